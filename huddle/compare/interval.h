// What several seeds say of a figure: its mean, how far they lie apart, and how sure the mean is.

#pragma once

#include <optional>
#include <span>

namespace huddle {

// Over the seeds: the mean, and the standard deviation of a sample.
struct Spread {
  double mean = 0;
  double deviation = 0;
};

// Nothing where there are no values.
std::optional<Spread> spread_of(std::span<const double> values);

// Where a mean lies with a confidence of 95 % (Student's t).
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// A mean and its interval. From one value alone nothing is known about others: there is none then.
struct Measured {
  std::optional<double> value;
  std::optional<ConfidenceInterval> interval;

  // What is judged: the low end; the value itself where one seed leaves no interval.
  std::optional<double> surely() const { return interval ? interval->low : value; }
};

// Of one value for each seed.
Measured measured_mean(std::span<const double> values);

// Likewise for ratios: the geometric mean, so that a over b is one over b over a. REQUIRES: all are
// positive.
Measured measured_ratio(std::span<const double> ratios);

}  // namespace huddle
