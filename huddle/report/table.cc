#include "huddle/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/record/time_parts.h"
#include "huddle/report/figure_words.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

constexpr std::size_t kLineWidth = 80;
constexpr std::size_t kLabelWidth = 16;
constexpr int kBarWidth = 30;

// "label           value", with a long value continued below itself.
void add_entry(std::string& text, std::string_view label, std::string_view value) {
  if (value.empty()) return;
  for (const std::string& line : wrapped(value, kLineWidth - kLabelWidth)) {
    text += fmt::format("{:<{}}{}\n", label, kLabelWidth, line);
    label = "";
  }
}

std::string in_parentheses(const std::string& text) {
  return text.empty() ? "" : " (" + text + ")";
}

std::string with_unit(std::int64_t count, const char* singular) {
  return format_count(count) + " " + singular + (count == 1 ? "" : "s");
}

void add_setup(std::string& text, const Summary& summary) {
  const std::string parameters =
      summary.parameters == 0 ? "" : with_unit(summary.parameters, "parameter");
  const std::string batch =
      summary.batch == 0 ? "" : "batch of " + format_count(summary.batch) + " each";
  add_entry(text, "strategy", summary.strategy);
  if (summary.settled != summary.strategy) add_entry(text, "", summary.settled);
  add_entry(text, "engine", summary.engine);
  add_entry(text, "cluster", summary.cluster);
  add_entry(text, "workers", format_count(summary.workers) + in_parentheses(batch));
  if (!summary.model.empty()) add_entry(text, "model", summary.model + in_parentheses(parameters));
  if (!summary.data.empty()) add_entry(text, "data", summary.data + in_parentheses(summary.split));
  add_entry(text, "optimizer", summary.optimizer);
}

std::string loss_text(double loss) {
  return std::isfinite(loss) ? format_figure(loss) : format_figure(loss) + " (diverged)";
}

std::string quality_text(const Quality& quality) {
  const std::string accuracy =
      quality.accuracy ? format_percent(*quality.accuracy, 2) + " accuracy, " : "";
  return accuracy + loss_text(quality.loss) + " test loss";
}

void add_accuracy(std::string& text, const Summary& summary) {
  const char* label = "accuracy";
  if (summary.consensus && summary.consensus->accuracy)
    add_entry(text, std::exchange(label, ""),
              format_percent(*summary.consensus->accuracy, 2) + " consensus");
  if (const auto workers = worker_accuracy(summary))
    add_entry(text, label,
              format_percent(workers->mean, 2) + " worker mean, " +
                  format_percent(workers->smallest, 2) + " worker min");
}

// One line for each figure that has words; those of single sizes, workers and the like have none.
void add_figures(std::string& text, const Summary& summary) {
  std::string last;
  for (const auto& [name, value] : summary.figures) {
    const std::string line = figure_words(name, value);
    if (line.empty()) continue;
    const std::string strategy = name.substr(0, name.find('.'));
    add_entry(text, strategy == last ? "" : strategy, line);
    last = strategy;
  }
}

// "3.1 % (worker 7) to 13.9 % (worker 0)".
std::string range_text(const std::vector<double>& values, std::string (*format)(double)) {
  const auto [least, most] = std::ranges::minmax_element(values);
  return fmt::format("{} (worker {}) to {} (worker {})", format(*least), least - values.begin(),
                     format(*most), most - values.begin());
}

// Who took how much of the run, where that differs, and what was done about it.
void add_shares(std::string& text, const Summary& summary) {
  const std::vector<double> shares = step_shares(summary);
  if (std::ranges::adjacent_find(shares, std::not_equal_to<>()) == shares.end()) return;
  add_entry(text, "shares", range_text(shares, [](double share) {
                              return format_percent(share);
                            }) + " of all steps");
  const std::vector<double>& factors = summary.rate_factor_by_worker;
  if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) return;
  add_entry(text, "balance", "learning rates scaled by " + range_text(factors, [](double factor) {
                               return fmt::format("{:.2f}", factor);
                             }));
}

void add_results(std::string& text, const Summary& summary) {
  const std::string done = format_count(summary.steps_done);
  add_entry(
      text, "steps",
      summary.steps_done == summary.steps ? done : done + " of " + format_count(summary.steps));
  add_shares(text, summary);
  add_entry(
      text, "time",
      format_seconds(summary.seconds) +
          (summary.network.empty() ? "" : ", simulated (network model " + summary.network + ")"));
  if (const auto step = seconds_per_step(summary))
    add_entry(text, "step time", format_seconds(*step));
  if (summary.samples_per_second > 0)
    add_entry(text, "speed", format_rate(summary.samples_per_second) + " samples/s");
  if (summary.steps_done > 0 && (summary.batch > 0 || std::isfinite(summary.loss)))
    add_entry(text, "training loss",
              fmt::format("{}, mean of the last {} steps of all workers", loss_text(summary.loss),
                          std::min(summary.steps_done, kStepsOfLoss)));
  add_accuracy(text, summary);
  if (summary.consensus)
    add_entry(text, "test loss", loss_text(summary.consensus->loss) + " consensus");
  if (summary.swa) add_entry(text, "swa", quality_text(*summary.swa));
  for (const auto& [name, quality] : summary.others) add_entry(text, name, quality_text(quality));
  if (summary.drift)
    add_entry(text, "drift",
              std::isfinite(*summary.drift) ? format_figure(*summary.drift) : "not finite");
  add_entry(text, "sent per worker", format_bytes(summary.bytes_sent_per_worker));
  if (const auto narrowest = bottleneck(summary.links, summary.seconds))
    add_entry(text, "bottleneck",
              narrowest->link.name + ", full for " + format_percent(narrowest->load) +
                  " of the time (" + format_bytes(narrowest->link.bytes) + ")");
  add_figures(text, summary);
  for (const std::string& lost : summary.lost) add_entry(text, "lost", lost);
  for (const std::string& warning : summary.warnings) add_entry(text, "warning", warning);
}

TimeSplit mean_of(const std::vector<TimeSplit>& times) {
  TimeSplit mean;
  const double share = 1.0 / static_cast<double>(times.size());
  for (const TimeSplit& time : times)
    for (const auto& [name, part] : kTimeParts) mean.*part += time.*part * share;
  return mean;
}

// Whoever computes longest is the one the others wait for; total times say nothing, since waiting
// makes them alike.
void add_slowest(std::string& text, const std::vector<TimeSplit>& times, Seconds mean_compute) {
  if (times.size() < 2) return;
  const auto slowest = std::ranges::max_element(times, {}, &TimeSplit::compute);
  text += fmt::format("Slowest: worker {}, computing for {} (mean {}).\n", slowest - times.begin(),
                      format_seconds(slowest->compute), format_seconds(mean_compute));
}

void add_time(std::string& text, const std::vector<TimeSplit>& times) {
  if (times.empty()) return;
  const TimeSplit mean = mean_of(times);
  const Seconds total = mean.compute + mean.wait + mean.exchange;
  if (!(total > 0)) return;
  text += times.size() == 1
              ? "\nWhere the time went:\n"
              : fmt::format("\nWhere the time went, mean of {} workers:\n", times.size());
  using enum Table::Align;
  Table table({{"", left}, {"", left}, {"", right}, {"", right}, {"", left}});
  for (const auto& [name, part] : kTimeParts) {
    const bool is_hidden = part == &TimeSplit::hidden;
    if (!is_hidden || mean.hidden > 0)
      table.add_row({name, text_bar(mean.*part / total, kBarWidth),
                     format_percent(mean.*part / total), format_seconds(mean.*part),
                     is_hidden ? "beside compute" : ""});
  }
  text += table.text();
  add_slowest(text, times, mean.compute);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  // Every byte of UTF-8 that is not the continuation of a character begins one.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

std::string text_bar(double share, int width) {
  const double bounded = share > 0 ? std::min(share, 1.0) : 0.0;
  const int filled = static_cast<int>(std::lround(bounded * width));
  std::string bar;
  for (int column = 0; column < width; ++column) bar += column < filled ? "█" : "░";
  return bar;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  const auto trim = [](std::string& line) { line.erase(line.find_last_not_of(' ') + 1); };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,\n"), text.size() - 1) + 1;
    std::string word(text.substr(0, end));
    const bool ends_line = word.back() == '\n';
    if (ends_line) word.back() = ' ';
    text.remove_prefix(end);
    std::string bare = word;
    trim(bare);
    if (!lines.back().empty() && display_width(lines.back() + bare) > width) lines.emplace_back();
    lines.back() += word;
    if (ends_line && !text.empty()) lines.emplace_back();
  }
  for (std::string& line : lines) trim(line);
  return lines;
}

void Table::add_row(std::vector<std::string> cells) {
  check(cells.size() == columns_.size(), "a row has not one cell for each column");
  rows_.push_back(std::move(cells));
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const std::string padding(widths[column] - display_width(cells[column]), ' ');
    if (column > 0) text += "  ";
    text +=
        columns_[column].align == Align::right ? padding + cells[column] : cells[column] + padding;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string Table::text() const {
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  std::vector<std::size_t> widths(columns_.size(), 0);
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    for (std::size_t column = 0; column < cells.size(); ++column)
      widths[column] = std::max(widths[column], display_width(cells[column]));
  };
  widen(headers);
  for (const std::vector<std::string>& row : rows_) widen(row);
  std::string text = joined(headers, "").empty() ? "" : line(headers, widths);
  for (const std::vector<std::string>& row : rows_) text += line(row, widths);
  return text;
}

void print_summary(std::FILE* out, const Summary& summary) {
  std::string text;
  if (summary.status != "complete") add_entry(text, "status", summary.status);
  add_setup(text, summary);
  text += "\n";
  add_results(text, summary);
  add_time(text, summary.time);
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

}  // namespace huddle
