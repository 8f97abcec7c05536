// One member's tensor to all others, along a binomial tree.
//
// Steps: ceil(log2 n) messages in sequence. Bytes sent by the root: ceil(log2 n) M.

#pragma once

#include <ATen/core/Tensor.h>

#include "huddle/base/group.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Every member calls this; afterwards all tensors equal that of `root`. The tensor is contiguous,
// of one size and type everywhere. Throws PeerLost or Timeout. REQUIRES: root is a member.
void broadcast(Endpoint& endpoint, const Group& group, WorkerId root, const at::Tensor& tensor,
               Tag tag, Deadline deadline);

}  // namespace huddle
