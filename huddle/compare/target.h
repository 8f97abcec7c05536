// When a run has reached its target: judged by a model that somebody could have.
//
// A curve follows the mean of all workers' models. Where all workers hold that mean (synchronous
// strategies always do, local ones at the end of a round) it is there. Everywhere else it must be
// formed first, by one average of everybody, and its time and bytes are added. So a strategy that
// leaves averaging to the reader gains nothing by it.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "huddle/base/ids.h"
#include "huddle/record/record.h"

namespace huddle {

// What the consensus model must reach on the test set.
struct Target {
  enum class Of { accuracy, loss };
  Of of = Of::accuracy;
  double value = 0;      // At least this accuracy, or at most this loss.
  std::string baseline;  // Not empty: the accuracy is this yardstick's at its end ...
  double below = 0;      // ... less so much, as a share of all samples.
};

// One average of all models on a cluster.
struct ConsensusCost {
  Seconds seconds = 0;
  double bytes_per_worker = 0;
};

// The first moment at which a model that reaches the target can be there.
struct Reached {
  Time time = 0;                // The average included where it is needed.
  Time trained_until = 0;       // Without it.
  double progress = 0;          // Steps of the run.
  bool must_form = false;       // Whether the mean had to be formed.
  double bytes_per_worker = 0;  // Sent until then, the average included.
};

// Whether all workers hold the mean of their models, but for rounding.
bool is_formed(const CurvePoint& point);

// `cost`: nothing where it is not known; only points at which the mean is formed count then. The
// bytes are those of the average alone. REQUIRES: the target has no baseline.
std::optional<Reached> reach(const Target& target, std::span<const CurvePoint> curve,
                             const std::optional<ConsensusCost>& cost);

}  // namespace huddle
