// Nobody leaves before everybody has come.
//
// Dissemination: in stage k every member signals the one 2^k places further. Steps: ceil(log2 n)
// messages in sequence, as many sent per member, empty ones.

#pragma once

#include "huddle/base/group.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Throws PeerLost or Timeout.
void barrier(Endpoint& endpoint, const Group& group, Tag tag, Deadline deadline);

}  // namespace huddle
