// Hierarchical by leader: each rack adds up along a chain to its first member, the leaders average
// in a ring, and the result runs back down the chains. Chains are pipelined, so they cost one
// model, not one a hop. Racks may differ in size.
//
// With R racks of m: 2(m-1) + 2(R-1) messages in sequence (of pieces). Bytes sent by a leader: M +
// 2(R-1)/R M. Time, phases one after another: (2(m-1) + 2(R-1)) a + 2 M/b + 2(R-1)/R M/min(b,u).
// Phases overlap unless told otherwise.

#pragma once

#include "huddle/collective/plan.h"

namespace huddle {

Plan leader_plan(int position, const Racks& racks);

}  // namespace huddle
