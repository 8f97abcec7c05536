// How sure a difference is that was measured with several seeds, each with and without it.

#pragma once

#include <optional>
#include <span>

namespace huddle {

// A mean, and where it lies with a confidence of 95 % (Student's t).
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Of one value for each seed. From one value alone nothing is known about others: nothing is
// returned.
std::optional<Estimate> estimate_mean(std::span<const double> values);

// Likewise for ratios: the geometric mean, so that a over b is one over b over a. REQUIRES: all are
// positive.
std::optional<Estimate> estimate_ratio(std::span<const double> ratios);

// The geometric mean. REQUIRES: not empty, all positive.
double geometric_mean(std::span<const double> ratios);

}  // namespace huddle
