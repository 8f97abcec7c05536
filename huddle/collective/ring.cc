#include "huddle/collective/ring.h"

#include <numeric>

namespace huddle {

Action Ring::on_part(Action::Verb verb, int peer, int part, int phase) const {
  const int wrapped = ((part % size()) + size()) % size();
  const int first = first_segment + wrapped * part_segments;
  return {verb, peer, first, first + part_segments, phase};
}

void Ring::reduce_scatter(int step, int phase, Plan& plan) const {
  plan.actions.push_back(on_part(Action::Verb::send, right(), index - step, phase));
  plan.actions.push_back(on_part(Action::Verb::add, left(), index - step - 1, phase));
}

void Ring::all_gather(int step, int phase, Plan& plan) const {
  plan.actions.push_back(on_part(Action::Verb::send, right(), owned_part() - step, phase));
  plan.actions.push_back(on_part(Action::Verb::copy, left(), owned_part() - step - 1, phase));
}

Plan ring_plan(int position, int members) {
  Plan plan{.segments = members, .pieces = 1, .actions = {}};
  Ring ring{.members = std::vector<int>(static_cast<std::size_t>(members)), .index = position};
  std::iota(ring.members.begin(), ring.members.end(), 0);
  for (int step = 0; step < members - 1; ++step) ring.reduce_scatter(step, step, plan);
  for (int step = 0; step < members - 1; ++step) ring.all_gather(step, members - 1 + step, plan);
  return plan;
}

}  // namespace huddle
