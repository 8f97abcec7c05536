#include "huddle/schedule/mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/schedule/contraction.h"
#include "huddle/schedule/phase_space.h"
#include "huddle/schedule/sectors.h"

namespace huddle {
namespace {

constexpr double kExact = 1e-12;  // A smaller norm is rounding.

// How many phases of the cycle from `first` on make the mean of all; nothing if two cycles do not.
std::optional<int> steps_to_consensus(const PhaseSpace& space, int first) {
  const auto at = [&](int i) -> const PhaseGroups& {
    return space.phase((first + i) % space.cycle());
  };
  const int most = 2 * space.cycle();
  if (space.commutes()) {
    Components components(space.workers());
    for (int i = 0; i < most; ++i) {
      join(components, at(i));
      if (components.count() == 1) return i + 1;
    }
    return std::nullopt;
  }
  Matrix product = deviations(at(0));
  for (int i = 0; i < most; ++i) {
    if (i > 0) product = carried(overlaps(at(i - 1), at(i)), product, at(i).groups());
    if (frobenius_norm(product) <= kExact) return i + 1;
  }
  return std::nullopt;
}

// The same in sectors: until each of them has met a phase that leaves nothing of the one before.
// Turns are alike, so one of them shows whether there is such a phase.
std::optional<int> steps_to_consensus(const std::vector<Sector>& sectors, int first) {
  int longest = 1;
  for (const Sector& sector : sectors) {
    SectorWalk walk(sector, first);
    SectorDirection before = walk.next();
    double left = before.is_nothing() ? 0 : 1;
    int steps = 1;
    for (; std::abs(left) > kExact; ++steps) {
      if (steps > std::ssize(sector.turn)) return std::nullopt;
      const SectorDirection now = walk.next();
      left = sector.overlap(before, now);
      before = now;
    }
    longest = std::max(longest, steps);
  }
  return longest;
}

// A window is exact as soon as the phases in it are, or a global average is in it. `by_phase`: how
// many phases of the cycle from each one on are, for all that differ.
std::optional<int> exact_window(const std::vector<std::optional<int>>& by_phase, int every) {
  const auto phases = static_cast<int>(by_phase.size());
  int longest = 1;
  if (every == 0) {
    for (const std::optional<int>& steps : by_phase) {
      if (!steps) return std::nullopt;
      longest = std::max(longest, *steps);
    }
    return longest;
  }
  // After a global average the cycle goes on where it was: every - 1 phases further each time.
  const int stride = std::gcd(every - 1, phases);
  for (int start = 0; start < phases; start += stride)
    for (int done = 0; done + 1 < every; ++done) {
      const int to_global = every - done;
      const auto& steps = by_phase[static_cast<std::size_t>((start + done) % phases)];
      longest = std::max(longest, std::min(steps.value_or(to_global), to_global));
    }
  return longest;
}

// Either of PhaseSpace and sectors.
template <typename Phases>
std::optional<int> exact_window(const Phases& phases, const Schedule& schedule) {
  std::vector<std::optional<int>> by_phase;
  for (int phase = 0; phase < schedule.turn(); ++phase)
    by_phase.push_back(steps_to_consensus(phases, phase));
  return exact_window(by_phase, schedule.global_every());
}

// The spectral norm of the product of a period's phases minus J.
double norm_of_period(const PhaseSpace& space) {
  if (space.commutes()) return 0;  // All components are one by then.
  Matrix product = deviations(space.at(0));
  for (std::int64_t step = 1; step < space.period(); ++step)
    product =
        carried(overlaps(space.at(step - 1), space.at(step)), product, space.at(step).groups());
  return frobenius_norm(product) <= kExact ? 0 : spectral_norm(product);
}

Mixing of_phases(const Schedule& schedule) {
  const PhaseSpace space(schedule);
  if (space.components() > 1) return {.never_mixes = true, .mixing_factor = 1};
  return {.exact_window = exact_window(space, schedule),
          .mixing_factor = schedule.global_every() > 0 ? 0 : norm_of_period(space)};
}

Mixing of_sectors(const std::vector<Sector>& sectors, const Schedule& schedule) {
  if (schedule.global_every() == 0 && never_mixes(sectors))
    return {.never_mixes = true, .mixing_factor = 1};
  Mixing mixing{.exact_window = exact_window(sectors, schedule)};
  if (schedule.global_every() > 0) return mixing;
  const auto turns = static_cast<double>(schedule.cycle() / schedule.turn());
  for (const Sector& sector : sectors)
    mixing.mixing_factor =
        std::max(mixing.mixing_factor, std::abs(sector.within_turn()) *
                                           std::pow(std::abs(sector.across_turn()), turns - 1));
  return mixing;
}

Mixing of_random(const Schedule& schedule) {
  const RandomPattern& random = *schedule.random();
  const double left =
      contraction(RandomPartition{.workers = random.members, .groups = random.groups});
  Mixing mixing{.never_mixes = left == 1 && schedule.global_every() == 0,
                .mixing_factor = std::sqrt(left)};
  if (left == 0) {
    mixing.exact_window = 1;
  } else if (schedule.global_every() > 0) {
    mixing.exact_window = schedule.global_every();
    mixing.mixing_factor = 0;
  }
  return mixing;
}

}  // namespace

Mixing analyse_mixing(const Schedule& schedule, double beta) {
  const auto sectors = sectors_of(schedule);
  Mixing mixing = schedule.random() != nullptr ? of_random(schedule)
                  : sectors                    ? of_sectors(*sectors, schedule)
                                               : of_phases(schedule);
  mixing.deviation = deviation_variance(schedule, beta);
  return mixing;
}

}  // namespace huddle
