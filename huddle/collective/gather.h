// Every member's tensor to one of them.
//
// Steps: 1 message in sequence, n-1 received by the root at once. Bytes sent per member: M. Meant
// for small tensors.

#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "huddle/base/group.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Every member calls this with a contiguous tensor of one size and type. Returns copies of all of
// them, by position, at `root`; nothing elsewhere. Throws PeerLost or Timeout. REQUIRES: root is a
// member.
std::vector<at::Tensor> gather(Endpoint& endpoint, const Group& group, WorkerId root,
                               const at::Tensor& tensor, Tag tag, Deadline deadline);

}  // namespace huddle
