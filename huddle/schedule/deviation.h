// How far workers' models lie apart while they train, predicted: the variance of x_i - mean.
//
// The model is pure noise: every worker adds an independent update of variance 1 to each coordinate
// in every step, then its group averages. So numbers are in units of lr^2 s^2 (learning rate,
// deviation of a gradient), and curvature, which pulls workers together, is left out. The variance
// is stationary, taken right after averaging, and averaged over workers and steps.

#pragma once

#include <optional>

#include "huddle/schedule/schedule.h"

namespace huddle {

struct DeviationVariance {
  double plain = 0;              // SGD without momentum.
  double local_momentum = 0;     // Heavy ball; momentum buffers stay with their workers.
  double averaged_momentum = 0;  // Buffers are averaged in the same groups as the models.
};

// Adds factor * other.
void add(DeviationVariance& sum, double factor, const DeviationVariance& other);

// Nothing where the schedule never mixes: the variance grows without bound. Cost: for phases that
// commute, counting components; for those of sectors.h some operations for each step between two
// global averages that differs; else, for tables of three phases and more, some periods of r x r
// matrices, r the groups of a phase. REQUIRES: 0 <= beta < 1.
std::optional<DeviationVariance> deviation_variance(const Schedule& schedule, double beta);

// The plain variance right after a meeting, in a run whose groups meet at every k-th step, or late.
// Every worker brings the updates of k steps to a meeting; where what was averaged arrives at the
// next one, the updates since then are not averaged yet: k * (plain + (1 - 1/N) if late).
double deviation_at_meetings(const Schedule& schedule, const DeviationVariance& variance);

}  // namespace huddle
