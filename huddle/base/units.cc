#include "huddle/base/units.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

struct Unit {
  std::string name;
  double factor = 1;
};

double parse(std::string_view what, std::string_view text, std::span<const Unit> units,
             std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view suffix =
      text.substr(error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0);
  while (suffix.starts_with(' ')) suffix.remove_prefix(1);
  std::vector<std::string> names;
  for (const Unit& unit : units) {
    if (error == std::errc() && unit.name == suffix && number >= 0 &&
        std::isfinite(number * unit.factor))
      return number * unit.factor;
    names.push_back(unit.name);
  }
  throw UsageError(concat(what, ": '", text,
                          "' is not a non-negative number with one of the units ", joined(names),
                          "; for example ", example, "."));
}

}  // namespace

Seconds parse_seconds(std::string_view what, std::string_view text) {
  static const std::vector<Unit> units{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  const Seconds seconds = parse(what, text, units, "0.1ms");
  if (seconds > kLongestTime)
    throw UsageError(concat(what, ": '", text, "' is too long; a time is from 0 s to ",
                            kLongestTime, " s, for example 0.1ms."));
  return seconds;
}

double parse_bytes(std::string_view what, std::string_view text) {
  static const std::vector<Unit> units{{"B", 1},       {"kB", 1e3},     {"MB", 1e6},
                                       {"GB", 1e9},    {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                       {"GiB", 0x1p30}};
  return parse(what, text, units, "102.4MB");
}

double parse_wire(std::string_view what, std::string_view text) {
  const double bytes = parse_bytes(what, text);
  if (bytes < kLeastWireBytes || bytes > kMostWireBytes)
    throw UsageError(concat(what, ": '", text,
                            "' is not at least 1 kB and at most 100000 GB; for example 102.4MB. "
                            "Without it the model counts for what it is."));
  return bytes;
}

double parse_bandwidth(std::string_view what, std::string_view text) {
  static const std::vector<Unit> units{
      {"bps", 1.0 / 8}, {"kbps", 1e3 / 8}, {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}};
  return parse(what, text, units, "10Gbps");
}

}  // namespace huddle
