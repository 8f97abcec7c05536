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

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> logarithms(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) {
    check(ratio > 0, "a ratio of times is positive");
    logs.push_back(std::log(ratio));
  }
  return logs;
}

}  // namespace

std::optional<Estimate> estimate_mean(std::span<const double> values) {
  if (values.size() < 2) return {};
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  const std::size_t row = std::min(values.size() - 2, kStudent.size() - 1);
  const double half = kStudent[row] * std::sqrt(squares / (count - 1) / count);
  return Estimate{mean, mean - half, mean + half};
}

std::optional<Estimate> estimate_ratio(std::span<const double> ratios) {
  const auto log = estimate_mean(logarithms(ratios));
  if (!log) return {};
  return Estimate{std::exp(log->value), std::exp(log->low), std::exp(log->high)};
}

double geometric_mean(std::span<const double> ratios) {
  check(!ratios.empty(), "the mean of nothing");
  return std::exp(mean_of(logarithms(ratios)));
}

}  // namespace huddle
