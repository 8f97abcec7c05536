#include "huddle/compare/comparison_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "huddle/base/text.h"
#include "huddle/compare/answer.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"

namespace huddle {
namespace {

constexpr std::size_t kTextWidth = 100;
constexpr const char* kNothing = "-";

using Rows = std::vector<const ComparedRow*>;
using Cell = std::function<std::string(const ComparedRow&)>;

double mean_in(const Json& value) {
  return value.is_object() ? value["mean"].get<double>() : value.get<double>();
}

// "97.12 %", and with several seeds "97.12 % ± 0.20".
std::string accuracy_cell(const Json& accuracy, const ComparedRow& row) {
  const std::string mean = format_percent(mean_in(accuracy), 2);
  return row.seeds > 1 ? fmt::format("{} ± {:.2f}", mean, accuracy["spread"].get<double>() * 100)
                       : mean;
}

std::string loss_cell(const Json& loss, const ComparedRow& row) {
  return row.accuracy_consensus ? kNothing : format_figure(mean_in(loss));
}

std::string rate_cell(const Json&, const ComparedRow& row) {
  return row.tuned ? row.workload.at("lr") : kNothing;
}

// How a field's format looks here; `value` is as in results.json, and not null.
const std::map<std::string, std::string (*)(const Json& value, const ComparedRow& row)> kFormats{
    {"accuracy", accuracy_cell},
    {"bytes", [](const Json& value, const ComparedRow&) { return format_bytes(mean_in(value)); }},
    {"drift",
     [](const Json& value, const ComparedRow&) { return fmt::format("{:.2g}", mean_in(value)); }},
    {"loss", loss_cell},
    {"rate", rate_cell},
    {"seconds",
     [](const Json& value, const ComparedRow&) { return format_seconds(mean_in(value)); }},
    {"share", [](const Json& value, const ComparedRow&) { return format_percent(mean_in(value)); }},
    {"text", [](const Json& value, const ComparedRow&) { return value.get<std::string>(); }}};

std::string cell_of(const Field<ComparedRow>& field, const ComparedRow& row) {
  const Json value = field.value.write(row);
  return value.is_null() || value == "" ? kNothing : kFormats.at(field.shown.format)(value, row);
}

// "1.71x", and where several seeds leave some doubt "1.71x ± 0.04": the farther end of the
// interval.
std::string times_text(const Measured& times) {
  if (!times.value) return kNothing;
  const auto [low, high] = times.interval.value_or(ConfidenceInterval{*times.value, *times.value});
  const double doubt = std::max(*times.value - low, high - *times.value);
  return doubt < 0.005 ? fmt::format("{:.2f}x", *times.value)
                       : fmt::format("{:.2f}x ± {:.2f}", *times.value, doubt);
}

struct NamedCell {
  std::string header;
  Cell cell;
  Table::Align align = Table::Align::right;
};

// How many times as fast as each baseline, beside the time that this is about.
void add_speedups(std::vector<NamedCell>& columns, const Rows& rows, const std::string& measure) {
  const bool by_step = measure == "step";
  for (std::size_t i = 0; i < rows.front()->speedups.size(); ++i)
    columns.push_back({"vs " + rows.front()->speedups[i].name, [=](const ComparedRow& row) {
                         const Speedup& speedup = row.speedups[i];
                         return times_text(by_step ? speedup.of_step : speedup.to_target);
                       }});
}

// The most telling ones first.
std::vector<NamedCell> columns_of(const Rows& rows) {
  std::vector<NamedCell> columns;
  for (const Field<ComparedRow>* field : columns_in(&Shown::terminal)) {
    columns.push_back({field->shown.terminal.heading,
                       [field](const ComparedRow& row) { return cell_of(*field, row); },
                       field->shown.format == "text" ? Table::Align::left : Table::Align::right});
    if (!field->shown.factors.empty()) add_speedups(columns, rows, field->shown.factors);
  }
  return columns;
}

std::string table_of(const std::vector<NamedCell>& columns, const Rows& rows) {
  std::vector<Table::Column> heads;
  for (const NamedCell& column : columns) heads.push_back({column.header, column.align});
  Table table(heads);
  for (const ComparedRow* row : rows) {
    std::vector<std::string> cells;
    for (const NamedCell& column : columns) cells.push_back(column.cell(*row));
    table.add_row(cells);
  }
  return table.text();
}

bool fits(const std::string& table) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);)
    if (display_width(line) > kTextWidth) return false;
  return true;
}

// `left_out`: the columns that were too many are added to it.
std::string table_text(const Rows& rows, Columns which, std::set<std::string>& left_out) {
  std::vector<NamedCell> columns = columns_of(rows);
  std::erase_if(columns, [&](const NamedCell& column) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const ComparedRow* row) { return column.cell(*row) == kNothing; });
  });
  std::string text = table_of(columns, rows);
  while (which == Columns::that_fit && columns.size() > 2 && !fits(text)) {
    left_out.insert(columns.back().header);
    columns.pop_back();
    text = table_of(columns, rows);
  }
  return text;
}

void add_wrapped(std::string& text, const std::string& paragraph) {
  if (paragraph.empty()) return;
  for (const std::string& line : wrapped(paragraph, kTextWidth)) text += line + "\n";
}

// Which strategies the speed-ups of a case are over, and whatever makes rows unequal.
void add_notes(std::string& text, const Rows& rows) {
  for (const Speedup& speedup : rows.front()->speedups)
    if (!speedup.label.empty() && speedup.label != speedup.name)
      add_wrapped(text, fmt::format("{}: {}.", speedup.name, speedup.label));
  for (const ComparedRow* row : rows) {
    std::string own;
    for (const auto& [key, value] : row->workload)
      if (!(row->tuned && key == "lr"))
        own += fmt::format("{}{}={}", own.empty() ? "" : ", ", key, value);
    if (!own.empty()) add_wrapped(text, fmt::format("{} has its own {}.", row->label, own));
    if (row->reached > 0 && row->reached < row->seeds)
      add_wrapped(text, fmt::format("{} reached the target with {} of {} seeds.", row->label,
                                    row->reached, row->seeds));
    if (row->status != "complete")
      add_wrapped(text, fmt::format("{}: {}{}", row->label, row->status,
                                    row->seeds > 0 ? " (the row is without it)" : ""));
  }
}

std::string target_text(const Target& target) {
  if (!target.baseline.empty())
    return fmt::format(
        "Target: consensus accuracy of {} with the same seed at its end, less {:.2g} "
        "points.\n",
        target.baseline, 100 * target.below);
  return target.of == Target::Of::loss
             ? "Target: consensus test loss of " + format_figure(target.value) + ".\n"
             : "Target: consensus accuracy of " + format_percent(target.value) + ".\n";
}

// What `to target` means in this case.
void add_target_notes(std::string& text, const Comparison& comparison, const Comparison::Case& one,
                      const Rows& rows) {
  if (comparison.target && !comparison.target->baseline.empty() && one.target)
    add_wrapped(text, fmt::format("Target here: {} on the mean of the seeds.",
                                  format_percent(one.target->value, 2)));
  std::vector<std::string> forming;
  for (const ComparedRow* row : rows)
    if (row->time_to_target && row->forms_at_target) forming.push_back(row->label);
  if (one.consensus && !forming.empty())
    add_wrapped(text, fmt::format("To target includes one average of everybody, {}, for {}: until "
                                  "then nobody holds the mean of the models.",
                                  format_seconds(one.consensus->seconds), joined(forming)));
}

}  // namespace

std::string comparison_text(const Comparison& comparison, Columns columns) {
  const ComparisonAnswer answer = answer_of(comparison);
  std::set<std::string> left_out;
  std::string text;
  add_wrapped(text, comparison.title);
  add_wrapped(text, comparison.claim.empty() ? "" : "Claimed: " + comparison.claim);
  if (comparison.target) text += target_text(*comparison.target);
  add_wrapped(text, comparison.note);
  for (const Comparison::Case& one : comparison.cases) {
    Rows rows;
    for (const ComparedRow& row : comparison.table)
      if (row.case_name == one.name) rows.push_back(&row);
    if (rows.empty()) continue;
    text += "\n";
    if (comparison.cases.size() > 1) add_wrapped(text, "Case: " + one.name);
    text += table_text(rows, columns, left_out);
    add_target_notes(text, comparison, one, rows);
    add_notes(text, rows);
    for (const CaseAnswer& told : answer.cases)
      if (told.case_name == one.name && !told.why.empty()) add_wrapped(text, "Why: " + told.why);
  }
  if (!left_out.empty())
    add_wrapped(text, fmt::format("\nWith --wide there is more: {}.", fmt::join(left_out, ", ")));
  text += "\n";
  for (const std::string& line : answer.headline) add_wrapped(text, line);
  add_wrapped(text, answer.measure);
  if (!comparison.verdicts.empty()) text += "\n";
  for (const Verdict& verdict : comparison.verdicts)
    text +=
        fmt::format("{}  {}\n", verdict.holds ? "holds         " : "DOES NOT HOLD ", verdict.text);
  return text;
}

}  // namespace huddle
