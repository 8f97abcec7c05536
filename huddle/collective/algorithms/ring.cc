#include "huddle/collective/algorithms/ring.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

namespace {

// Of the member at `index`, where they sit in this order.
Plan plan_in_order(std::vector<int> order, int index) {
  const Ring ring{.members = std::move(order), .index = index};
  const int members = ring.size();
  Plan plan{.segments = members, .pieces = 1, .actions = {}};
  for (int step = 0; step < members - 1; ++step) ring.reduce_scatter(step, step, plan);
  for (int step = 0; step < members - 1; ++step) ring.all_gather(step, members - 1 + step, plan);
  return plan;
}

}  // namespace

Plan ring_plan(int position, int members) {
  std::vector<int> order(static_cast<std::size_t>(members));
  std::iota(order.begin(), order.end(), 0);
  return plan_in_order(std::move(order), position);
}

Plan scattered_ring_plan(int position, const Racks& racks) {
  std::vector<int> order;
  std::size_t largest = 0;
  for (const auto& rack : racks) largest = std::max(largest, rack.size());
  for (std::size_t place = 0; place < largest; ++place)
    for (const auto& rack : racks)
      if (place < rack.size()) order.push_back(rack[place]);
  const auto self = std::find(order.begin(), order.end(), position);
  return plan_in_order(order, static_cast<int>(self - order.begin()));
}

}  // namespace huddle
