#include "huddle/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string_view>
#include <vector>

#include "huddle/base/text.h"

namespace huddle {
namespace {

// Rounding decides what a number looks like, so it decides the unit as well: 999.6 ms reads "1.0
// s", never "1000 ms".
constexpr double kRoundsToThousand = 999.5;
constexpr double kRoundsToHundred = 99.95;
constexpr double kRoundsToMinute = 59.95;
constexpr double kRoundsToFourDigits = 999.95;

// The sign of a nan differs between machines and means nothing. REQUIRES: not finite.
std::string not_finite(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string short_number(double value) {
  return value < kRoundsToHundred ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string in_two_units(double small_units, double ratio, std::string_view large,
                         std::string_view small) {
  const double large_units = std::floor(small_units / ratio);
  return fmt::format("{:.0f} {} {:.0f} {}", large_units, large, small_units - large_units * ratio,
                     small);
}

// REQUIRES: `seconds` rounds to a minute or more.
std::string long_seconds(Seconds seconds) {
  const double whole_seconds = std::round(seconds);
  if (whole_seconds < 60 * 60) return in_two_units(whole_seconds, 60, "m", "s");
  const double minutes = std::round(seconds / 60);
  if (minutes < 24 * 60) return in_two_units(minutes, 60, "h", "m");
  return in_two_units(std::round(seconds / 3600), 24, "d", "h");
}

// What stands behind "`key` :" in each line that begins with `key`, where anything does.
std::vector<std::string> values_of(const std::filesystem::path& file, std::string_view key) {
  std::vector<std::string> values;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t value = line.find_first_not_of(" \t:", key.size());
        line.starts_with(key) && value != std::string::npos)
      values.push_back(line.substr(value));
  return values;
}

// REQUIRES: not empty.
double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::string format_seconds(Seconds seconds) {
  if (!std::isfinite(seconds)) return not_finite(seconds) + " s";
  if (seconds < 0) return "-" + format_seconds(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds >= kRoundsToMinute) return long_seconds(seconds);
  if (seconds * 1e3 >= kRoundsToThousand) return short_number(seconds) + " s";
  if (seconds * 1e6 >= kRoundsToThousand) return short_number(seconds * 1e3) + " ms";
  return short_number(seconds * 1e6) + " µs";
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return not_finite(bytes) + " B";
  if (bytes < 0) return "-" + format_bytes(-bytes);
  if (bytes < kRoundsToThousand) return fmt::format("{:.0f} B", bytes);
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  bytes /= 1000;
  for (; bytes >= kRoundsToThousand && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return short_number(bytes) + " " + kUnits[unit];
}

std::string format_count(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first_digit = count < 0 ? 1 : 0;
  for (std::size_t place = text.size(); place > first_digit + 3;) text.insert(place -= 3, ",");
  return text;
}

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second)) return not_finite(per_second);
  // Whole numbers past 2^53 are beyond anything a rate can mean, and beyond what converts to an
  // integer.
  if (std::abs(per_second) >= 0x1p53) return fmt::format("{:.3g}", per_second);
  if (per_second < kRoundsToHundred) return short_number(per_second);
  return format_count(std::llround(per_second));
}

std::string format_percent(double share, int decimals) {
  if (!std::isfinite(share)) return not_finite(share) + " %";
  return fmt::format("{:.{}f} %", share * 100, decimals);
}

std::string format_figure(double figure) {
  if (!std::isfinite(figure)) return not_finite(figure);
  // The trailing zeros that # keeps are significant digits, but only behind the point.
  const bool has_decimals = std::abs(figure) < kRoundsToFourDigits;
  return has_decimals ? fmt::format("{:#.4g}", figure) : fmt::format("{:.4g}", figure);
}

std::string machine_description(const std::filesystem::path& proc) {
  std::vector<std::string> parts = values_of(proc / "cpuinfo", "model name");
  parts.resize(std::min<std::size_t>(parts.size(), 1));  // Every core has it.
  const std::size_t cores = values_of(proc / "cpuinfo", "processor\t").size();
  if (cores > 0) parts.push_back(fmt::format("{} {}", cores, cores == 1 ? "core" : "cores"));
  for (const std::string& memory : values_of(proc / "meminfo", "MemTotal"))  // "24684100 kB": KiB.
    parts.push_back(format_bytes(std::strtod(memory.c_str(), nullptr) * 1024) + " memory");
  return parts.empty() ? "unknown" : joined(parts);
}

std::optional<WorkerAccuracy> worker_accuracy(const Summary& summary) {
  std::vector<double> known;
  for (const Quality& quality : summary.by_worker)
    if (quality.accuracy) known.push_back(*quality.accuracy);
  if (known.empty()) return std::nullopt;
  return WorkerAccuracy{.mean = mean_of(known), .smallest = std::ranges::min(known)};
}

std::optional<Bottleneck> bottleneck(std::span<const LinkUse> links, Seconds seconds) {
  const auto fullest = std::ranges::max_element(links, {}, &LinkUse::full);
  if (fullest == links.end() || fullest->bytes == 0 || seconds == 0) return std::nullopt;
  return Bottleneck{*fullest, fullest->full / seconds};
}

std::vector<double> step_shares(const Summary& summary) {
  const std::vector<std::int64_t>& steps = summary.steps_by_worker;
  const auto all =
      static_cast<double>(std::accumulate(steps.begin(), steps.end(), std::int64_t{0}));
  std::vector<double> shares;
  if (all > 0)
    for (const std::int64_t taken : steps) shares.push_back(static_cast<double>(taken) / all);
  return shares;
}

std::optional<Seconds> seconds_per_step(const Summary& summary) {
  if (summary.steps_taken <= 0) return std::nullopt;
  return summary.seconds * summary.workers / static_cast<double>(summary.steps_taken);
}

std::optional<double> worker_test_loss(const Summary& summary) {
  std::vector<double> losses;
  for (const Quality& quality : summary.by_worker) losses.push_back(quality.loss);
  return losses.empty() ? std::nullopt : std::optional(mean_of(losses));
}

}  // namespace huddle
