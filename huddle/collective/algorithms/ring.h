// The ring: each member passes segments to its right neighbour, first adding (reduce-scatter), then
// overwriting (all-gather).
//
// Steps: 2(n-1) messages in sequence. Bytes sent per member: 2(n-1)/n M. Time: 2(n-1) a + 2(n-1)/n
// M/b. Segment c is summed in ring order, beginning with member c.

#pragma once

#include <vector>

#include "huddle/collective/plan.h"

namespace huddle {

Plan ring_plan(int position, int members);

// The ring of somebody who does not know the racks: every hop leaves its rack where it can.
Plan scattered_ring_plan(int position, const Racks& racks);

// One member's place in a ring that is part of a larger plan. The ring passes `members` parts of
// `part_segments` segments each, the first of which begins at `first_segment`.
struct Ring {
  std::vector<int> members;  // Positions in ring order.
  int index = 0;             // This member's place among them.
  int first_segment = 0;
  int part_segments = 1;

  int size() const { return static_cast<int>(members.size()); }
  int right() const { return members[static_cast<std::size_t>((index + 1) % size())]; }
  int left() const { return members[static_cast<std::size_t>((index + size() - 1) % size())]; }

  // The part that this member holds, complete, between the two halves.
  int owned_part() const { return (index + 1) % size(); }

  // The actions of step 0..size-2 of either half.
  void reduce_scatter(int step, int phase, Plan& plan) const;
  void all_gather(int step, int phase, Plan& plan) const;

 private:
  Action on_part(Action::Verb verb, int peer, int part, int phase) const;
};

}  // namespace huddle
