// Hierarchical and sharded: inside each rack a ring reduce-scatter leaves every member with one
// shard, members with equal shards average them across the racks in a ring, and a ring all-gather
// inside the rack spreads the result. The tensor is cut into chunks that follow one another through
// the three phases, so the in-rack and cross-rack links work at once.
//
// With R racks of m, N = R m: bytes sent per member 2(N-1)/N M, of which 2(R-1)/N M cross the
// uplink. Time, phases one after another: (2(m-1) + 2(R-1)) a + 2(m-1)/m M/b + 2(R-1)/R M/min(m b,
// u); overlapping, towards max(2(N-1)/N M/b, 2(R-1)/R M/u).

#pragma once

#include "huddle/collective/plan.h"

namespace huddle {

// Throws UsageError unless all racks are of one size.
Plan sharded_plan(int position, const Racks& racks, Overlap overlap);

}  // namespace huddle
