// What the controller of P-Reduce gives a worker: a group, what each member counts in it, and how
// to go on after it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/strategy/p_reduce/staleness.h"

namespace huddle {

struct Assignment {
  GroupId id;
  Group group;
  std::vector<double> weights;  // By position in the group.
  std::int64_t iteration = 0;   // Every member's after the average.
  double progress = 0;          // Steps of all workers over their number.
  bool last = false;            // Training is over after it.
  double rate_factor = 1;       // Of the receiver's next step (shares.h).

  static auto fields(auto& self) {
    return std::tie(self.id, self.group, self.weights, self.iteration, self.progress, self.last,
                    self.rate_factor);
  }
};

// As a message (message.h), with as many members as there ever are.
std::size_t longest_assignment(int members);

// How members are weighed; nothing: all alike.
using WeightRule = std::optional<DynamicWeights>;

// The members of a formed group are in the order of arrival, on which some weights depend; those of
// an assignment are sorted, as averages need them. `progress` and `rate_factor` are left to the
// caller.
Assignment assign(const FormedGroup& formed, const WeightRule& rule);

}  // namespace huddle
