// Values that a group averages while their worker goes on changing them.
//
//   sent <- values;  the group's average of everybody's `sent` travels
//   values <- average + (values - sent)      when it has arrived: what was done since then is kept
//
// The corrections of a group add up to zero, so the mean of all workers is what it would be without
// delay. One average at a time: a second one would correct the same disagreement again, and
// training diverges.

#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "huddle/replica/replica.h"

namespace huddle {

// Meta tensors have no numbers: everything here returns at once for them.
struct LateValues {
  at::Tensor values;   // The worker's.
  at::Tensor average;  // Of everybody's `sent`, where it forms; of the type of sums.
  at::Tensor sent;     // What this worker sent.
  // Where values are never negative, as second moments and variances, in order: a mean less what
  // the worker's own has shrunk by since may be. Then the smaller of the two is taken.
  std::vector<Range> never_negative = {};

  // With buffers of its own.
  static LateValues of(const at::Tensor& values);
  static LateValues of_statistics(const Replica& replica);

  // Nothing is under way, and nothing to correct.
  void start() const;

  // Takes what has arrived; all three are equal then, and `sent` may leave. One pass over memory.
  // bfloat16 is computed in float32.
  void correct() const;
};

}  // namespace huddle
