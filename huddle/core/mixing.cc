#include "huddle/core/mixing.h"

#include <algorithm>
#include <cmath>

#include "huddle/core/contraction.h"
#include "huddle/core/error.h"
#include "huddle/core/phase_space.h"

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
      components.join(at(i));
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

// A window is exact as soon as the phases in it are, or a global average is in it.
std::optional<int> exact_window(const PhaseSpace& space) {
  std::vector<std::optional<int>> by_phase;
  for (int phase = 0; phase < space.cycle(); ++phase) {
    by_phase.push_back(steps_to_consensus(space, phase));
    if (!by_phase.back() && space.global_every() == 0) return std::nullopt;
  }
  int longest = 1;
  for (int step = 0; step < space.period(); ++step) {
    const int index = space.index_at(step);
    if (index == space.cycle()) continue;
    std::optional<int> steps = by_phase[static_cast<std::size_t>(index)];
    if (space.global_every() > 0) {
      const int to_global = space.global_every() - step % space.global_every();
      steps = std::min(steps.value_or(to_global), to_global);
    }
    longest = std::max(longest, *steps);
  }
  return longest;
}

double norm_of(const PhaseSpace& space, const Window& window) {
  if (space.commutes()) {
    Components components(space.workers());
    for (int i = 0; i < window.length; ++i) components.join(space.at(window.first + i));
    return components.count() == 1 ? 0 : 1;
  }
  Matrix product = deviations(space.at(window.first));
  for (int step = window.first + 1; step < window.first + window.length; ++step)
    product =
        carried(overlaps(space.at(step - 1), space.at(step)), product, space.at(step).groups());
  return frobenius_norm(product) <= kExact ? 0 : spectral_norm(product);
}

double mixing_factor(const PhaseSpace& space) {
  if (space.global_every() > 0) return 0;
  if (space.components() > 1) return 1;
  return norm_of(space, {.first = 0, .length = space.period()});
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
  Mixing mixing;
  if (schedule.random() != nullptr) {
    mixing = of_random(schedule);
  } else {
    const PhaseSpace space(schedule);
    mixing.never_mixes = space.components() > 1;
    if (!mixing.never_mixes) mixing.exact_window = exact_window(space);
    mixing.mixing_factor = mixing_factor(space);
  }
  mixing.deviation = deviation_variance(schedule, beta);
  return mixing;
}

double window_norm(const Schedule& schedule, const Window& window) {
  check(window.first >= 0 && window.length >= 1, "an empty window");
  return norm_of(PhaseSpace(schedule), window);
}

Matrix window_product(const Schedule& schedule, const Window& window) {
  const int workers = schedule.members().size();
  check(workers <= 256 && window.length >= 1, "a dense product of this size");
  Matrix product = Matrix::identity(workers);
  for (int step = window.first; step < window.first + window.length; ++step)
    for (const Group& group : schedule.partition(Step{step}))
      for (int row = 0; row < workers; ++row) {
        double sum = 0;
        for (const WorkerId worker : group)
          sum += product(row, schedule.members().position_of(worker));
        for (const WorkerId worker : group)
          product(row, schedule.members().position_of(worker)) = sum / group.size();
      }
  return product;
}

}  // namespace huddle
