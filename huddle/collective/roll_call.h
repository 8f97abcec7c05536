// Who is still there, agreed by all who are: for what is done together after workers may have been
// lost.
//
// Everybody reports to worker 0, which replies when each worker has reported or is lost. Steps: two
// messages in sequence, two per worker, of control.

#pragma once

#include "huddle/base/group.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Equal on all members of the result. Called once per lane and run. Throws PeerLost without worker
// 0, and Timeout; a worker that is lost after the reply is missed by what follows, not by this.
Group roll_call(Endpoint& endpoint, Lane lane, Deadline deadline);

}  // namespace huddle
