// How fast a schedule spreads what one worker learns to all others.
//
// A phase multiplies the workers' models by W (1/|g| inside each group g), a period by
// W_0 W_1 ... W_{k-1}. J is the matrix of 1/N, the mean of all. No single phase but a global one
// comes nearer to J; products do, and the analysis says how near. Two groups p, q of consecutive
// phases with |p & q| = |p||q|/N everywhere make the product J exactly.

#pragma once

#include <optional>

#include "huddle/schedule/deviation.h"
#include "huddle/schedule/schedule.h"

namespace huddle {

struct Mixing {
  // Some workers never hear of some others, however long it runs.
  bool never_mixes = false;

  // The smallest k for which every k steps in a row average to the mean of all; looked for up to
  // two cycles.
  std::optional<int> exact_window = {};

  // The spectral norm of W_0 ... W_{period-1} - J: the share of a disagreement that survives a
  // period. Of random groups the root of the expected share of its square that survives one step,
  // sqrt((r-1)/(N-1)) for r groups.
  double mixing_factor = 0;

  // Nothing where it never mixes.
  std::optional<DeviationVariance> deviation = {};
};

// `beta` is the momentum of the two variances with momentum. Milliseconds for a thousand workers.
Mixing analyse_mixing(const Schedule& schedule, double beta);

}  // namespace huddle
