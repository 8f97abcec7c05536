// The data path of P-Reduce: x_i <- sum over j in the group of w_j x_j, among the members alone.
//
// Who is in the group and how much each counts comes from outside: from the controller, or from a
// script. Cost: one average of the parameters, one of the statistics where there are any.

#pragma once

#include "huddle/replica/replica_exchange.h"
#include "huddle/strategy/p_reduce/assignment.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Every member calls this with the same assignment; `exchange` is of `replica`. Throws PeerLost or
// Timeout with what travels as it was. Once the parameters are averaged the group is done: who
// loses a peer only after that keeps its own statistics and goes on.
Exchange average_partially(Endpoint& endpoint, ReplicaExchange& exchange, const Replica& replica,
                           const Assignment& given);

}  // namespace huddle
