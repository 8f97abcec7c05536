#include "huddle/collective/algorithms/direct.h"

namespace huddle {

Plan direct_plan(int position, int members) {
  Plan plan{.segments = members, .pieces = 1, .actions = {}};
  // Peers are visited by their distance, so that no receiver has to serve all senders first.
  const auto for_each_peer = [&](auto&& act) {
    for (int distance = 1; distance < members; ++distance)
      act((position + distance) % members, (position + members - distance) % members);
  };
  for_each_peer([&](int to, int from) {
    plan.actions.push_back({Action::Verb::send, to, to, to + 1, 0});
    plan.actions.push_back({Action::Verb::add, from, position, position + 1, 0});
  });
  for_each_peer([&](int to, int from) {
    plan.actions.push_back({Action::Verb::send, to, position, position + 1, 1});
    plan.actions.push_back({Action::Verb::copy, from, from, from + 1, 1});
  });
  return plan;
}

}  // namespace huddle
