#include "huddle/compare/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "huddle/base/text.h"
#include "huddle/compare/accounts.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

constexpr double kClearly = 1.005;         // A smaller factor reads 1.00x.
constexpr double kNotWorthSaying = 0.005;  // Of accuracy: half a point.
constexpr double kFewerSteps = 1.03;       // Numbers of steps that are closer are alike.
constexpr double kFewerBytes = 0.75;
constexpr const char* kByStep = " (a step)";  // Where others are judged by a target.
constexpr std::size_t kMostCasesInARow = 4;   // More of them make no headline.

using Row = const ComparedRow*;
using Rows = std::vector<Row>;

const Measured& factor_of(const Speedup& speedup, bool by_target) {
  return by_target ? speedup.to_target : speedup.of_step;
}

std::string times_text(double factor) {
  return factor < 9.995 ? fmt::format("{:.2f}x", factor) : fmt::format("{:.1f}x", factor);
}

// What one case is judged by.
class Judge {
 public:
  Judge(const Comparison& comparison, const std::string& case_name) : comparison_(comparison) {
    for (const ComparedRow& row : comparison.table)
      if (row.case_name == case_name) rows_.push_back(&row);
    by_target_ = comparison.target && std::any_of(rows_.begin(), rows_.end(), [](Row row) {
                   return row->accuracy_consensus || row->loss_consensus || row->time_to_target;
                 });
  }

  const Rows& rows() const { return rows_; }

  // By the time of a step where there is no target, or nothing is trained that could reach it.
  bool by_target() const { return by_target_; }

  std::optional<double> time(Row row) const {
    const std::optional<Spread>& spread = by_target() ? row->time_to_target : row->step_seconds;
    return spread && row->is_whole() ? std::optional(spread->mean) : std::nullopt;
  }

  // The label of whoever stands for the first yardstick; empty where there is none.
  std::string yardstick() const {
    if (rows_.empty() || rows_.front()->speedups.empty()) return "";
    const Speedup& first = rows_.front()->speedups.front();
    return by_target() ? first.target_label : first.label;
  }

  // Of the yardsticks that factors and target need, one of which some runs did not end well; empty
  // where there is none.
  std::string missing_yardstick() const {
    std::vector<std::string> needed;
    if (!rows_.empty() && !rows_.front()->speedups.empty())
      needed.push_back(rows_.front()->speedups.front().name);
    if (by_target() && !comparison_.target->baseline.empty())
      needed.push_back(comparison_.target->baseline);
    for (const std::string& name : needed)
      for (const Row row : rows_)
        if (!row->is_whole() && is_among(row->carries, name)) return name;
    return "";
  }

  // From the fastest on, without those that have no time.
  Rows ranking() const {
    Rows ranked;
    for (const Row row : rows_)
      if (time(row)) ranked.push_back(row);
    std::ranges::stable_sort(ranked, {}, [this](Row row) { return *time(row); });
    return ranked;
  }

  Row find(const std::string& label) const {
    const auto found = std::ranges::find(rows_, label, &ComparedRow::label);
    return found == rows_.end() ? nullptr : *found;
  }

  // Whether a factor is worth the name of a win: whatever the seeds leave open must be one, too.
  bool is_clear(Row row) const {
    const Measured& over = factor_of(row->speedups.front(), by_target());
    return over.value >= kClearly && (!over.interval || over.interval->low > 1);
  }

  std::vector<const RunOutcome*> outcomes(Row row) const {
    std::vector<const RunOutcome*> outcomes;
    for (const ComparedRun& run : comparison_.runs)
      if (run.case_name == row->case_name && run.label == row->label && run.outcome.is_complete())
        outcomes.push_back(&run.outcome);
    return outcomes;
  }

  // Mean over the seeds; nothing where the target is a loss, or nobody knows it.
  std::optional<double> target_accuracy() const {
    if (!by_target() || comparison_.target->of != Target::Of::accuracy) return {};
    if (comparison_.target->baseline.empty()) return comparison_.target->value;
    const std::optional<Target> mean = mean_target(rows_.front()->case_name, comparison_.runs);
    return mean ? std::optional(mean->value) : std::nullopt;
  }

  // Mean over the seeds.
  std::optional<double> steps_to_target(Row row) const {
    if (!by_target() || !row->time_to_target) return {};
    double steps = 0;
    for (const ComparedRun& run : comparison_.runs)
      if (run.case_name == row->case_name && run.label == row->label && run.reached)
        steps += run.reached->progress / row->reached;
    return steps;
  }

 private:
  const Comparison& comparison_;
  Rows rows_;
  bool by_target_ = false;
};

// "1.71x", or "1.71x to 6.47x over paper and 1.62x to 1.88x over best": of each yardstick, over all
// of these rows.
std::string factors_text(const Rows& rows, bool by_target) {
  std::vector<std::string> texts;
  const std::vector<Speedup>& yardsticks = rows.front()->speedups;
  for (std::size_t i = 0; i < yardsticks.size(); ++i) {
    std::vector<double> factors;
    for (const Row row : rows)
      if (const auto factor = factor_of(row->speedups[i], by_target).value)
        factors.push_back(*factor);
    if (factors.empty()) continue;
    const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
    std::string text = times_text(*least);
    if (times_text(*most) != text) text += " to " + times_text(*most);
    if (yardsticks.size() > 1) text += " over " + yardsticks[i].name;
    texts.push_back(text);
  }
  return listed(texts);
}

// What a user pays for the winner's speed, where that is worth saying.
std::string price_text(const Judge& judge, Row winner) {
  Row best = nullptr;
  for (const Row row : judge.rows())
    if (row->is_whole() && row->accuracy_consensus &&
        (!best || row->accuracy_consensus->mean > best->accuracy_consensus->mean))
      best = row;
  if (!best || !winner->accuracy_consensus) return "";
  const double loss = best->accuracy_consensus->mean - winner->accuracy_consensus->mean;
  if (loss <= kNotWorthSaying) return "";
  return fmt::format(
      "The accuracy of {} at the end is {:.1f} points below that of {}: {} against {}.",
      winner->label, loss * 100, best->label, format_percent(winner->accuracy_consensus->mean),
      format_percent(best->accuracy_consensus->mean));
}

// "What: a, b.", of the strategies for which it holds; empty where it does for none.
std::string told_of(const Judge& judge, const char* what, const std::function<bool(Row)>& holds) {
  std::vector<std::string> labels;
  for (const Row row : judge.rows())
    if (holds(row)) labels.push_back(row->label);
  return labels.empty() ? "" : fmt::format("{}: {}.", what, joined(labels));
}

// Of a baseline that was compared and by which no factor can be told.
std::string unreached_text(const Judge& judge) {
  return told_of(judge, "Without the target", [&](Row row) {
    return !row->carries.empty() && judge.by_target() && !row->time_to_target;
  });
}

// A target is reached where a curve first crosses it; curves of few steps fall below it again.
std::string below_target_text(const Judge& judge, Row winner) {
  const std::optional<double> target = judge.target_accuracy();
  if (!target || !winner->accuracy_consensus || winner->accuracy_consensus->mean >= *target)
    return "";
  return fmt::format("{} ends below the target that it reached: {} against {}.", winner->label,
                     format_percent(winner->accuracy_consensus->mean), format_percent(*target));
}

// "its step is 2.50x as fast, it sends ... and takes ...": how `row` differs from `base`.
std::string difference_text(const Judge& judge, Row row, Row base) {
  std::vector<std::string> parts;
  if (judge.by_target() && row->step_seconds && base->step_seconds && row->step_seconds->mean > 0)
    parts.push_back(fmt::format("its step is {} as fast",
                                times_text(base->step_seconds->mean / row->step_seconds->mean)));
  if (row->bytes_sent_per_worker && base->bytes_sent_per_worker &&
      *row->bytes_sent_per_worker <= kFewerBytes * *base->bytes_sent_per_worker)
    parts.push_back(fmt::format("it sends {} instead of {}",
                                format_bytes(*row->bytes_sent_per_worker),
                                format_bytes(*base->bytes_sent_per_worker)));
  const std::optional<double> own = judge.steps_to_target(row);
  const std::optional<double> other = judge.steps_to_target(base);
  if (own && other && std::max(*own, *other) > kFewerSteps * std::min(*own, *other))
    parts.push_back(
        fmt::format("it takes {:.0f} steps to the target instead of {:.0f}", *own, *other));
  return listed(parts);
}

std::string why_text(const Judge& judge, Row row, const std::string& name, Row base) {
  const auto own = account_of(judge.outcomes(row));
  const auto other = account_of(judge.outcomes(base));
  const std::string differs = difference_text(judge, row, base);
  std::string text;
  if (own && other)
    text = fmt::format("{} {}; {} {}", base->label, account_text(*other), name, account_text(*own));
  else if (!differs.empty())
    text = name;
  if (text.empty()) return "";
  return text + (differs.empty() ? "" : ": " + differs) + ".";
}

// The fastest, with whoever is exactly as fast.
std::string names_of(const Judge& judge, const Rows& ranked) {
  std::vector<std::string> names;
  for (const Row row : ranked)
    if (judge.time(row) == judge.time(ranked.front())) names.push_back(row->label);
  return listed(names);
}

// A case, and what it is counted as where there are many: a winner, or the reason for none.
struct Judged {
  CaseAnswer answer;
  std::string counts_as;
  Rows fastest = {};      // Of which the factors are told; empty without a winner.
  bool by_target = true;  // Or by the time of a step.
};

// Without a winner.
Judged without(const std::string& case_name, const std::string& reason) {
  return {{.case_name = case_name, .winner = "", .result = reason, .why = ""}, reason};
}

// Why nobody can win; empty where somebody can.
std::string reason_for_none(const Judge& judge, const Rows& ranked) {
  const auto any = [&](auto holds) {
    return std::any_of(judge.rows().begin(), judge.rows().end(), holds);
  };
  if (!any([](Row row) { return row->seeds > 0; })) return "no run came to an end";
  if (!any([](Row row) { return row->is_whole(); })) return "nobody came to an end with all seeds";
  if (const std::string name = judge.missing_yardstick(); !name.empty())
    return fmt::format("nothing to measure by: not all runs of {} ended well", name);
  if (!ranked.empty()) return "";
  return any([](Row row) { return row->reached > 0; }) ? "nobody reaches the target with all seeds"
                                                       : "nobody reaches the target";
}

Judged judge_case(const Judge& judge, const std::string& case_name) {
  const Rows ranked = judge.ranking();
  if (const std::string reason = reason_for_none(judge, ranked); !reason.empty())
    return without(case_name, reason);
  const Row fastest = ranked.front();
  const Row base = judge.find(judge.yardstick());
  const std::string names = names_of(judge, ranked);
  if (base && !fastest->speedups.empty() && !judge.is_clear(fastest)) {
    const bool is_base = names == base->label;
    Judged judged =
        without(case_name, is_base ? "nothing beats " + base->label : "no clear winner");
    if (!is_base)
      judged.answer.result +=
          fmt::format(" ({}, {})", names, factors_text({fastest}, judge.by_target()));
    const Row next = fastest != base ? fastest : ranked.size() > 1 ? ranked[1] : nullptr;
    if (next) judged.answer.why = why_text(judge, next, "the next, " + next->label + ",", base);
    return judged;
  }
  Judged judged{{.case_name = case_name, .winner = fastest->label, .result = names, .why = ""},
                names,
                {fastest}};
  const std::string factors = factors_text({fastest}, judge.by_target());
  if (!factors.empty()) judged.answer.result += ", " + factors;
  std::vector<std::string> sentences{
      base ? why_text(judge, fastest, fastest->label, base) : unreached_text(judge),
      below_target_text(judge, fastest), price_text(judge, fastest)};
  std::erase(sentences, "");
  judged.answer.why = joined(sentences, " ");
  return judged;
}

// Of whom nothing is said, and why.
std::string left_out_text(const Judge& judge) {
  return told_of(judge, "Not judged, because not all runs ended well",
                 [](Row row) { return row->seeds > 0 && !row->is_whole(); });
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// "sesgd in 5 of 7 cases, 1.62x to 6.47x. Nothing beats bsp in 2 of 7 cases."
std::vector<std::string> summed_up(const Comparison& comparison, const std::vector<Judged>& cases) {
  using Kind = std::pair<std::string, bool>;  // What it counts as, and whether by the target.
  nlohmann::ordered_map<Kind, std::vector<const Judged*>> found;
  for (const Judged& one : cases) found[{one.counts_as, one.by_target}].push_back(&one);
  std::vector<std::pair<Kind, std::vector<const Judged*>>> kinds(found.begin(), found.end());
  std::ranges::stable_sort(kinds, std::greater<>(),
                           [](const auto& kind) { return kind.second.size(); });
  std::vector<std::string> texts;
  for (const auto& [kind, members] : kinds) {
    const auto& [name, by_target] = kind;
    Rows rows;
    for (const Judged* one : members)
      rows.insert(rows.end(), one->fastest.begin(), one->fastest.end());
    const std::string factors = rows.empty() ? "" : factors_text(rows, by_target);
    texts.push_back(fmt::format("{} in {} of {} cases{}{}.",
                                rows.empty() ? capitalised(name) : name, members.size(),
                                cases.size(), factors.empty() ? "" : ", " + factors,
                                by_target || !comparison.target ? "" : kByStep));
  }
  return texts;
}

std::vector<std::string> headline_of(const Comparison& comparison,
                                     const std::vector<Judged>& cases) {
  if (cases.size() > kMostCasesInARow) return summed_up(comparison, cases);
  std::vector<std::string> texts;
  for (const Judged& one : cases)
    texts.push_back(
        fmt::format("{}{}{}.", cases.size() > 1 ? capitalised(one.answer.case_name) + ": " : "",
                    one.answer.result, one.by_target || !comparison.target ? "" : kByStep));
  return texts;
}

std::string measure_of(const Comparison& comparison, const std::vector<std::string>& yardsticks) {
  std::string text = "Factors: time of a step";
  if (comparison.target && !comparison.target->baseline.empty())
    text = fmt::format("Factors: time to the consensus accuracy of {} less {:.2g} points",
                       comparison.target->baseline, 100 * comparison.target->below);
  else if (comparison.target)
    text = "Factors: time to " +
           (comparison.target->of == Target::Of::loss
                ? "a consensus test loss of " + format_figure(comparison.target->value)
                : format_percent(comparison.target->value) + " consensus accuracy");
  return text + ", over " + listed(yardsticks) + ".";
}

}  // namespace

ComparisonAnswer answer_of(const Comparison& comparison) {
  std::vector<Judged> cases;
  for (const Comparison::Case& one : comparison.cases) {
    const Judge judge(comparison, one.name);
    if (judge.rows().empty()) continue;
    cases.push_back(judge_case(judge, one.name));
    cases.back().by_target = judge.by_target() || judge.ranking().empty();
    std::string& why = cases.back().answer.why;
    const std::string left_out = left_out_text(judge);
    why += (why.empty() || left_out.empty() ? "" : " ") + left_out;
  }
  ComparisonAnswer answer;
  if (cases.empty()) return answer;
  answer.headline = headline_of(comparison, cases);
  std::vector<std::string> yardsticks;
  for (const Speedup& speedup : comparison.table.front().speedups)
    yardsticks.push_back(speedup.name);
  if (!yardsticks.empty()) answer.measure = measure_of(comparison, yardsticks);
  for (Judged& one : cases) answer.cases.push_back(std::move(one.answer));
  return answer;
}

}  // namespace huddle
