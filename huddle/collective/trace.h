// Runs the plans of all members on paper: which sums they compute, in which order, and what that
// costs.
//
// This is the proof that a plan is right (every member ends with every contribution exactly once,
// in one and the same order) and the source of the order that the shared-memory path keeps.

#pragma once

#include <cstdint>
#include <vector>

#include "huddle/collective/plan.h"

namespace huddle {

// The order in which the members' values of one segment are added: a tree. Node i < members is the
// value of member i; the others are sums of two earlier nodes, in the order of `sums`, the last of
// which is the result.
struct SumOrder {
  struct Sum {
    int left = 0;
    int right = 0;
  };
  int members = 1;
  std::vector<Sum> sums;
};

struct Trace {
  std::vector<SumOrder> orders;  // By segment.
  int sequential_messages =
      0;  // Length of the longest chain of messages that wait for one another.
};

// Throws LogicError if the plans do not fit together or do not compute the sum. `plans`: one for
// each member, by position.
Trace trace(const std::vector<Plan>& plans);

}  // namespace huddle
