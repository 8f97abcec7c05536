#include "huddle/strategy/p_reduce/assignment.h"

#include "huddle/transport/message.h"

namespace huddle {

std::size_t longest_assignment(int members) {
  return size_of(Assignment{.group = Group::everyone(members),
                            .weights = std::vector<double>(static_cast<std::size_t>(members))});
}

Assignment assign(const FormedGroup& formed, const WeightRule& rule) {
  const std::vector<double> by_arrival =
      rule ? dynamic_weights(formed.iterations, *rule)
           : constant_weights(static_cast<int>(formed.members.size()));
  Assignment given{.id = formed.id,
                   .group = Group(formed.members),
                   .weights = std::vector<double>(by_arrival.size()),
                   .iteration = new_iteration(formed.iterations),
                   .last = formed.last};
  for (std::size_t i = 0; i < by_arrival.size(); ++i) {
    const int position = given.group.position_of(formed.members[i]);
    given.weights[static_cast<std::size_t>(position)] = by_arrival[i];
  }
  return given;
}

}  // namespace huddle
