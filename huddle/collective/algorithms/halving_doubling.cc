#include "huddle/collective/algorithms/halving_doubling.h"

#include <bit>

namespace huddle {

Plan halving_doubling_plan(int position, int members) {
  using Verb = Action::Verb;
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  const int extra = members - power;
  Plan plan{.segments = power, .pieces = 1, .actions = {}};

  // The first 2*extra members stand in pairs; the odd one of each pair lets the even one act for
  // it.
  const bool paired = position < 2 * extra;
  if (paired && position % 2 == 1) {
    plan.actions.push_back({Verb::send, position - 1, 0, power, 0});
    plan.actions.push_back({Verb::copy, position - 1, 0, power, 2});
    return plan;
  }
  if (paired) plan.actions.push_back({Verb::add, position + 1, 0, power, 0});

  const auto position_of = [&](int actor) { return actor < extra ? 2 * actor : actor + extra; };
  const int actor = paired ? position / 2 : position - extra;

  // Invariant: this actor's sums live in the segments first..first+distance*2-1 before each
  // exchange.
  int first = 0;
  for (int distance = power / 2; distance >= 1; distance /= 2) {
    const int partner = position_of(actor ^ distance);
    const int kept = first + (actor & distance);
    const int given = first + ((actor & distance) ^ distance);
    plan.actions.push_back({Verb::send, partner, given, given + distance, 1});
    plan.actions.push_back({Verb::add, partner, kept, kept + distance, 1});
    first = kept;
  }
  for (int distance = 1; distance < power; distance *= 2) {
    const int partner = position_of(actor ^ distance);
    const int other = first ^ distance;
    plan.actions.push_back({Verb::send, partner, first, first + distance, 1});
    plan.actions.push_back({Verb::copy, partner, other, other + distance, 1});
    first &= ~distance;
  }
  if (paired) plan.actions.push_back({Verb::send, position + 1, 0, power, 2});
  return plan;
}

}  // namespace huddle
