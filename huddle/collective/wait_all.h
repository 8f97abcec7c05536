// Waiting for several operations of one exchange within a group.

#pragma once

#include <span>

#include "huddle/base/group.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Waits until all have ended. Throws PeerLost as soon as any member of `group` is lost, Timeout
// when nothing ends for `deadline`.
void wait_all(Endpoint& endpoint, const Group& group, std::span<Pending> pendings,
              Deadline deadline);

}  // namespace huddle
