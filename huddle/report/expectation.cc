#include "huddle/report/expectation.h"

#include <fmt/format.h>

#include <algorithm>

#include "huddle/core/text.h"

namespace huddle {
namespace {

using Of = Expectation::Of;

const ComparedRow* row_of(std::span<const ComparedRow> rows, const std::string& case_name,
                          const std::string& label) {
  for (const ComparedRow& row : rows)
    if (row.case_name == case_name && row.label == label) return &row;
  return nullptr;
}

std::optional<double> points_over(const ComparedRow& row, const Speedup& yardstick,
                                  std::span<const ComparedRow> rows) {
  const ComparedRow* other = row_of(rows, row.case_name, yardstick.label);
  if (!other || !other->accuracy_consensus || !row.accuracy_consensus) return {};
  return 100 * (row.accuracy_consensus->mean - other->accuracy_consensus->mean);
}

std::optional<double> value_of(const Expectation& expectation, const ComparedRow& row,
                               std::span<const ComparedRow> rows) {
  for (const Speedup& yardstick : row.speedups) {
    if (yardstick.name != expectation.over) continue;
    switch (expectation.of) {
      case Of::speedup: return yardstick.of_step;
      case Of::speedup_to_target: return yardstick.to_target;
      case Of::accuracy_points: return points_over(row, yardstick, rows);
    }
  }
  return {};
}

// What one case comes to, and by which strategy.
struct Found {
  std::optional<double> value;
  std::string label;
  std::string case_name;
};

Found in_case(const Expectation& expectation, const std::string& case_name,
              std::span<const ComparedRow> rows) {
  const bool best_counts = expectation.of != Of::accuracy_points;
  Found found{.value = {}, .label = joined(expectation.labels, " or "), .case_name = case_name};
  for (const std::string& label : expectation.labels) {
    const ComparedRow* row = row_of(rows, case_name, label);
    const std::optional<double> value = row ? value_of(expectation, *row, rows) : std::nullopt;
    if (!value && !best_counts) return {{}, label, case_name};
    if (value && (!found.value || (best_counts ? *value > *found.value : *value < *found.value)))
      found = {value, label, case_name};
  }
  return found;
}

std::string figure(Of of, double value) {
  return of == Of::accuracy_points ? fmt::format("{:+.2f} points", value)
                                   : fmt::format("{:.2f}x", value);
}

}  // namespace

Verdict judge(const Expectation& expectation, std::span<const ComparedRow> rows) {
  const bool every = expectation.in == Expectation::In::every_case;
  std::optional<Found> deciding;
  for (const std::string& case_name : expectation.cases) {
    const Found found = in_case(expectation, case_name, rows);
    // Nothing is less than anything, as std::optional has it.
    if (!deciding || (every ? found.value < deciding->value : found.value > deciding->value))
      deciding = found;
  }
  if (!deciding) return {"no case to judge", false};
  return {fmt::format("{} over {}{}, {}: {}, at least {}", deciding->label, expectation.over,
                      expectation.of == Of::speedup_to_target ? " to the target" : "",
                      deciding->case_name,
                      deciding->value ? figure(expectation.of, *deciding->value) : "not known",
                      figure(expectation.of, expectation.at_least)),
          deciding->value && *deciding->value >= expectation.at_least};
}

}  // namespace huddle
