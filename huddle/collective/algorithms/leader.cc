#include "huddle/collective/algorithms/leader.h"

#include <algorithm>

#include "huddle/collective/algorithms/ring.h"

namespace huddle {
namespace {

// A chain of m-1 hops takes (pieces + m - 2) / pieces of one model's time.
constexpr int kPieces = 256;

}  // namespace

Plan leader_plan(int position, const Racks& racks) {
  using Verb = Action::Verb;
  const int rack_count = static_cast<int>(racks.size());
  Plan plan{.segments = rack_count, .pieces = kPieces, .actions = {}};
  const auto own = std::find_if(racks.begin(), racks.end(), [&](const std::vector<int>& rack) {
    return std::find(rack.begin(), rack.end(), position) != rack.end();
  });
  const std::vector<int>& rack = *own;
  const int place = static_cast<int>(std::find(rack.begin(), rack.end(), position) - rack.begin());
  const bool has_next = place + 1 < static_cast<int>(rack.size());
  const int next = has_next ? rack[static_cast<std::size_t>(place + 1)] : -1;
  const int previous = place > 0 ? rack[static_cast<std::size_t>(place - 1)] : -1;

  const int back = 2 * rack_count - 1;  // The phase after those of the ring.
  if (has_next) plan.actions.push_back({Verb::add, next, 0, rack_count, 0});
  if (place > 0) {
    plan.actions.push_back({Verb::send, previous, 0, rack_count, 0});
    plan.actions.push_back({Verb::copy, previous, 0, rack_count, back});
  } else if (rack_count > 1) {
    Ring leaders{.members = {}, .index = static_cast<int>(own - racks.begin())};
    for (const std::vector<int>& each : racks) leaders.members.push_back(each.front());
    for (int step = 0; step < rack_count - 1; ++step) leaders.reduce_scatter(step, 1 + step, plan);
    for (int step = 0; step < rack_count - 1; ++step)
      leaders.all_gather(step, rack_count + step, plan);
  }
  if (has_next) plan.actions.push_back({Verb::send, next, 0, rack_count, back});
  return plan;
}

}  // namespace huddle
