// How the learning rate changes over a run: constant, in steps, or along a cosine, each after an
// optional linear warm-up.
//
// A schedule is a pure function of progress, so that a resumed run needs no saved state and an
// asynchronous strategy may report the progress of the whole run rather than its own steps.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "huddle/base/spec.h"

namespace huddle {

// What may be chosen, for validation and help.
std::vector<SpecInfo> known_learning_rates();

// Immutable; any thread may use it.
class LearningRate {
 public:
  // `spec` such as "cosine:warmup=100"; `base` is the rate that warm-up leads to. Throws UsageError
  // on an unknown schedule or key, and on a warm-up longer than the run. REQUIRES: base >= 0.
  LearningRate(std::string_view spec, double base, std::int64_t total_steps);

  // The rate of the step that is taken once `progress` steps of the run are done. It may be
  // fractional, and may pass the end of the run, where the rate of its end holds. REQUIRES:
  // progress >= 0.
  //
  // Warm-up of N steps takes the first at base / N and the Nth at base. `step` counts from the
  // beginning of the run; `cosine` falls from the end of the warm-up to the end of the run.
  double at(double progress) const;

 private:
  double share_of_base(double progress) const;

  double base_;
  double total_steps_;
  double warmup_;
  // A shape that was not chosen is flat.
  double every_ = 1;   // step.
  double factor_ = 1;  // step.
  double floor_ = 1;   // cosine.
};

}  // namespace huddle
