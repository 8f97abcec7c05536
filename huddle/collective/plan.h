// A collective algorithm as data: which messages one member sends and receives, in which order.
//
// The flat tensor is cut into `segments` by a rule on the flat index alone. Each member has a list
// of actions: send a stretch of segments to a peer, add what a peer sends, or overwrite with what a
// peer sends. Only actions that touch the same segments depend on one another, so the
// executor of a plan (execute.h) may cut actions into pieces and let adding one piece overlap with
// receiving the next, and phases overlap with one another: the order in which each element is
// summed never changes.
//
// Because a plan is data, one piece serves everything: it is executed over messages, read off for
// its cost, and traced (trace.h) for the order of its sums, which the shared-memory path then
// keeps.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/cluster/topology.h"

namespace huddle {

enum class Algorithm {
  automatic,
  pair,
  ring,
  halving_doubling,
  leader,
  sharded,
  direct,
  scattered_ring
};

// The names users write, in the order of the enumeration; the first, "default", is the rule of
// `choose`.
const std::vector<std::string>& algorithm_names();

// REQUIRES: one of algorithm_names().
Algorithm parse_algorithm(std::string_view name);

// The algorithm to use, a pure function of bytes and group size. A ring of two is a pair: the same
// bytes and sums in half the messages. `automatic`: small messages are bound by latency and take
// halving-doubling's 2 log2(n) steps; large ones are bound by bandwidth, where a ring is as good as
// any.
Algorithm choose(Algorithm algorithm, int members, std::int64_t bytes);

// Which members (by position in the group) share a rack, racks in order of their first member, none
// empty.
using Racks = std::vector<std::vector<int>>;
Racks racks_of(const Group& group, const Topology& topology);

// Whether its plans depend on who shares a rack, not on the number of members alone.
bool knows_racks(Algorithm algorithm);

// One action of one member on the segments first..last-1.
struct Action {
  enum class Verb {
    send,
    add,
    copy
  };  // add: receive and add to one's own. copy: receive and overwrite.

  Verb verb = Verb::send;
  int peer = 0;  // A position in the group.
  int first = 0;
  int last = 0;
  int phase = 0;  // Where phases are not to overlap, all of one phase ends before the next begins.
};

// One member's part. Actions on the same segment run in this order; so do, for each peer, those in
// one direction.
struct Plan {
  int segments = 1;
  int pieces = 1;  // Into how many messages each action wants to be cut, if it is large, to travel
                   // on sooner.
  std::vector<Action> actions;
};

// Whether the phases of a plan may overlap. `none` is for measuring what overlap is worth.
enum class Overlap { phases, none };

// The plan of the member at `position`, cut as finely as its phases need to overlap. Throws
// UsageError where the algorithm does not fit the group (`pair` with other than two members,
// `sharded` with racks of unequal size). REQUIRES: not `automatic`; racks cover the members;
// position is one.
Plan make_plan(Algorithm algorithm, int position, const Racks& racks,
               Overlap overlap = Overlap::phases);

}  // namespace huddle
