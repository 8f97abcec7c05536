#include "huddle/compare/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// Two-sided 95 % points of Student's t by degrees of freedom, from 1; beyond the table the last one
// errs on the safe side.
constexpr std::array kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                              2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                              2.131,  2.120, 2.110, 2.101, 2.093, 2.086};

}  // namespace

std::optional<Spread> spread_of(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  Spread spread;
  for (const double value : values) spread.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

Measured measured_mean(std::span<const double> values) {
  const auto spread = spread_of(values);
  if (!spread) return {};
  if (values.size() < 2) return {.value = spread->mean, .interval = {}};
  const std::size_t row = std::min(values.size() - 2, kStudent.size() - 1);
  const double half =
      kStudent[row] * spread->deviation / std::sqrt(static_cast<double>(values.size()));
  return {spread->mean, ConfidenceInterval{spread->mean - half, spread->mean + half}};
}

Measured measured_ratio(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double each : ratios) {
    check(each > 0, "a ratio of times is positive");
    logs.push_back(std::log(each));
  }
  Measured ratio = measured_mean(logs);
  if (ratio.value) ratio.value = std::exp(*ratio.value);
  if (ratio.interval)
    ratio.interval = {std::exp(ratio.interval->low), std::exp(ratio.interval->high)};
  return ratio;
}

}  // namespace huddle
