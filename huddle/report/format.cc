#include "huddle/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>

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

// The value after "`key` :" in the first line that begins with `key`, or "".
std::string value_of(const std::filesystem::path& file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t value = line.find_first_not_of(" \t:", key.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

int processors(const std::filesystem::path& cpuinfo) {
  int count = 0;
  std::ifstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);)
    count += line.starts_with("processor\t") ? 1 : 0;
  return count;
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
  const std::string name = value_of(proc / "cpuinfo", "model name");
  const int cores = processors(proc / "cpuinfo");
  const std::string memory =
      value_of(proc / "meminfo", "MemTotal");  // "24684100 kB", where kB means KiB.
  std::string text = name;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (cores > 0) add(fmt::format("{} {}", cores, cores == 1 ? "core" : "cores"));
  const double kibibytes = memory.empty() ? 0 : std::strtod(memory.c_str(), nullptr);
  if (kibibytes > 0) add(format_bytes(kibibytes * 1024) + " memory");
  return text.empty() ? "unknown" : text;
}

std::optional<WorkerAccuracy> worker_accuracy(const Summary& summary) {
  double sum = 0;
  double smallest = 0;
  int count = 0;
  for (const Quality& quality : summary.by_worker) {
    if (!quality.accuracy) continue;
    smallest = count == 0 ? *quality.accuracy : std::min(smallest, *quality.accuracy);
    sum += *quality.accuracy;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return WorkerAccuracy{.mean = sum / count, .smallest = smallest};
}

std::optional<Bottleneck> bottleneck(const Summary& summary) {
  const auto fullest =
      std::max_element(summary.links.begin(), summary.links.end(),
                       [](const LinkUse& a, const LinkUse& b) { return a.full < b.full; });
  if (fullest == summary.links.end() || fullest->bytes == 0 || summary.seconds == 0)
    return std::nullopt;
  return Bottleneck{*fullest, fullest->full / summary.seconds};
}

std::optional<Seconds> seconds_per_step(const RunLength& length) {
  if (!(length.steps_taken > 0)) return std::nullopt;
  return length.seconds * length.workers / length.steps_taken;
}

std::optional<double> worker_test_loss(const Summary& summary) {
  if (summary.by_worker.empty()) return std::nullopt;
  double sum = 0;
  for (const Quality& quality : summary.by_worker) sum += quality.loss;
  return sum / static_cast<double>(summary.by_worker.size());
}

}  // namespace huddle
