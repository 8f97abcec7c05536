#include "huddle/compare/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Of = Expectation::Of;

const ComparedRow* row_of(std::span<const ComparedRow> rows, const std::string& case_name,
                          const std::string& label) {
  for (const ComparedRow& row : rows)
    if (row.case_name == case_name && row.label == label) return &row;
  return nullptr;
}

Measured measured(const Expectation& expectation, const ComparedRow& row) {
  if (!row.is_whole()) return {};
  for (const Speedup& yardstick : row.speedups) {
    if (yardstick.name != expectation.over) continue;
    switch (expectation.of) {
      case Of::speedup: return yardstick.of_step;
      case Of::speedup_to_target: return yardstick.to_target;
      case Of::accuracy_points: return yardstick.points;
    }
  }
  return {};
}

// What one case comes to, and by which strategy.
struct Found {
  Measured of;
  std::string label;
  std::string case_name;
};

Found in_case(const Expectation& expectation, const std::string& case_name,
              std::span<const ComparedRow> rows) {
  const bool best_counts = expectation.of != Of::accuracy_points;
  Found found{.of = {}, .label = joined(expectation.labels, " or "), .case_name = case_name};
  for (const std::string& label : expectation.labels) {
    const ComparedRow* row = row_of(rows, case_name, label);
    const Measured of = row ? measured(expectation, *row) : Measured{};
    const auto value = of.surely();
    const auto best = found.of.surely();
    if (!value && !best_counts) return {{}, label, case_name};
    if (value && (!best || (best_counts ? *value > *best : *value < *best)))
      found = {of, label, case_name};
  }
  return found;
}

std::string figure(Of of, double value) {
  return of == Of::accuracy_points ? fmt::format("{:+.2f} points", value)
                                   : fmt::format("{:.2f}x", value);
}

std::string text_of(Of of, const Measured& found) {
  if (!found.value) return "not known";
  const std::string value = figure(of, *found.value);
  if (!found.interval) return value;
  const auto [low, high] = *found.interval;
  return of == Of::accuracy_points ? fmt::format("{} ({:+.2f} to {:+.2f})", value, low, high)
                                   : fmt::format("{} ({:.2f} to {:.2f})", value, low, high);
}

}  // namespace

Verdict judge(const Expectation& expectation, std::span<const ComparedRow> rows) {
  std::vector<Found> found;
  for (const std::string& case_name : expectation.cases)
    found.push_back(in_case(expectation, case_name, rows));
  if (found.empty()) return {"no case to judge", false};
  // Nothing is less than anything, as std::optional has it.
  std::ranges::stable_sort(found, std::greater(),
                           [](const Found& each) { return each.of.surely(); });
  const int in = expectation.in > 0 ? expectation.in : static_cast<int>(found.size());
  check(in <= std::ssize(found), "an expectation in more cases than it has");
  const Found& deciding = found[static_cast<std::size_t>(in - 1)];
  const auto surely = deciding.of.surely();
  return {fmt::format("{} over {}{}, {}: {}, at least {}{}", deciding.label, expectation.over,
                      expectation.of == Of::speedup_to_target ? " to the target" : "",
                      deciding.case_name, text_of(expectation.of, deciding.of),
                      figure(expectation.of, expectation.at_least),
                      expectation.in > 0 ? fmt::format(" in {} of {}", in, found.size()) : ""),
          surely && *surely >= expectation.at_least};
}

}  // namespace huddle
