#include "huddle/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "huddle/core/error.h"

namespace huddle {
namespace {

using Runs = std::vector<const ComparedRun*>;
using Figure = std::function<std::optional<double>(const RunOutcome&)>;

// Of the runs that have the figure; nothing where none has.
std::optional<Spread> spread_of(const Runs& runs, const Figure& figure) {
  std::vector<double> values;
  for (const ComparedRun* run : runs)
    if (const auto value = figure(run->outcome)) values.push_back(*value);
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  Spread spread;
  for (const double value : values) spread.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

std::optional<double> mean_of(const Runs& runs, const Figure& figure) {
  const auto spread = spread_of(runs, figure);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

Figure named(Figures RunOutcome::*figures, const char* name) {
  return [=](const RunOutcome& outcome) -> std::optional<double> {
    const auto found = (outcome.*figures).find(name);
    return found == (outcome.*figures).end() ? std::nullopt : found->second;
  };
}

// Of one kind of time in all that passed, over all workers.
Figure share(Seconds TimeSplit::*kind) {
  return [=](const RunOutcome& outcome) -> std::optional<double> {
    Seconds part = 0;
    Seconds all = 0;
    for (const TimeSplit& time : outcome.time) {
      part += time.*kind;
      all += time.compute + time.wait + time.exchange;
    }
    return all > 0 ? std::optional(part / all) : std::nullopt;
  };
}

Figure time_to(const std::optional<Target>& target) {
  return [target](const RunOutcome& outcome) -> std::optional<double> {
    const auto point = target ? first_at(*target, outcome.curve) : std::nullopt;
    return point ? std::optional(point->time) : std::nullopt;
  };
}

// The bottleneck of most runs; with as many for two, that of the first.
std::string usual_bottleneck(const Runs& runs) {
  std::vector<std::pair<std::string, int>> counts;
  for (const ComparedRun* run : runs)
    if (const auto link = bottleneck_of(run->outcome)) {
      const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& count) {
        return count.first == link->link.name;
      });
      if (found == counts.end())
        counts.emplace_back(link->link.name, 1);
      else
        ++found->second;
    }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

ComparedRow row_of(const Runs& all, const std::optional<Target>& target) {
  const ComparedRun& first = *all.front();
  ComparedRow row{.case_name = first.case_name, .label = first.label, .strategy = first.strategy};
  Runs runs;
  for (const ComparedRun* run : all) {
    if (run->outcome.is_complete())
      runs.push_back(run);
    else if (row.status == "complete")
      row.status = run->outcome.status;
  }
  row.seeds = static_cast<int>(runs.size());
  row.step_seconds =
      spread_of(runs, [](const RunOutcome& outcome) { return outcome.step_seconds; });
  const Figure time = time_to(target);
  row.reached = static_cast<int>(std::count_if(
      runs.begin(), runs.end(), [&](const ComparedRun* run) { return time(run->outcome); }));
  if (row.reached == row.seeds) row.time_to_target = spread_of(runs, time);
  row.accuracy_consensus = spread_of(runs, named(&RunOutcome::accuracy, "consensus"));
  row.accuracy_worker_mean = spread_of(runs, named(&RunOutcome::accuracy, "worker_mean"));
  row.loss_consensus = spread_of(runs, named(&RunOutcome::test_loss, "consensus"));
  row.drift = spread_of(runs, [](const RunOutcome& outcome) { return outcome.drift; });
  row.bytes_sent_per_worker =
      mean_of(runs, [](const RunOutcome& outcome) { return outcome.bytes_sent_per_worker; });
  row.wait = mean_of(runs, share(&TimeSplit::wait));
  row.exchange = mean_of(runs, share(&TimeSplit::exchange));
  row.hidden = mean_of(runs, share(&TimeSplit::hidden));
  row.bottleneck = usual_bottleneck(runs);
  return row;
}

const ComparedStrategy& strategy_of(const ComparedRow& row,
                                    std::span<const ComparedStrategy> strategies) {
  const auto found =
      std::find_if(strategies.begin(), strategies.end(),
                   [&](const ComparedStrategy& strategy) { return strategy.label == row.label; });
  check(found != strategies.end(), "a run of a strategy that nobody named");
  return *found;
}

std::vector<std::string> yardsticks(std::span<const ComparedStrategy> strategies) {
  std::vector<std::string> names;
  for (const ComparedStrategy& strategy : strategies)
    for (const std::string& name : strategy.baselines)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

// The row of `rows` that carries `name` in this case and has the least of `time`.
const ComparedRow* fastest(const std::vector<ComparedRow>& rows,
                           std::span<const ComparedStrategy> strategies, const std::string& name,
                           const std::string& case_name, std::optional<Spread> ComparedRow::*time) {
  const ComparedRow* best = nullptr;
  for (const ComparedRow& row : rows) {
    const std::vector<std::string>& names = strategy_of(row, strategies).baselines;
    if (row.case_name == case_name && row.*time &&
        std::find(names.begin(), names.end(), name) != names.end() &&
        (!best || (row.*time)->mean < (best->*time)->mean))
      best = &row;
  }
  return best;
}

// How many times as fast as `other`, where both are known.
std::optional<double> speedup(const ComparedRow& row, const ComparedRow* other,
                              std::optional<Spread> ComparedRow::*time) {
  if (!other || !(row.*time) || !((row.*time)->mean > 0)) return {};
  return (other->*time)->mean / (row.*time)->mean;
}

}  // namespace

std::optional<CurvePoint> first_at(const Target& target, std::span<const CurvePoint> curve) {
  for (const CurvePoint& point : curve) {
    const Quality& quality = point.consensus;
    if (target.of == Target::Of::loss ? quality.loss <= target.value
                                      : quality.accuracy && *quality.accuracy >= target.value)
      return point;
  }
  return {};
}

std::vector<CurvePoint> retimed(std::span<const CurvePoint> curve, std::span<const Time> ends) {
  std::vector<CurvePoint> points;
  for (CurvePoint point : curve) {
    const auto steps = static_cast<std::size_t>(std::ceil(point.progress));
    if (steps > ends.size()) continue;
    point.time = steps == 0 ? 0 : ends[steps - 1];
    points.push_back(point);
  }
  return points;
}

RunOutcome joined_outcome(const RunOutcome& trained, const RunOutcome& timed,
                          std::span<const Time> ends) {
  if (!timed.is_complete()) return timed;
  if (!trained.is_complete()) return trained;
  RunOutcome both = trained;
  both.seconds = timed.seconds;
  both.step_seconds = timed.step_seconds;
  both.bytes_sent_per_worker = timed.bytes_sent_per_worker;
  both.time = timed.time;
  both.links = timed.links;
  both.curve = retimed(trained.curve, ends);
  both.warnings.insert(both.warnings.end(), timed.warnings.begin(), timed.warnings.end());
  return both;
}

std::optional<Bottleneck> bottleneck_of(const RunOutcome& outcome) {
  Summary summary;
  summary.seconds = outcome.seconds.value_or(0);
  summary.links = outcome.links;
  return bottleneck(summary);
}

std::vector<ComparedRow> compare_runs(std::span<const ComparedRun> runs,
                                      std::span<const ComparedStrategy> strategies,
                                      const std::optional<Target>& target) {
  std::vector<std::pair<std::pair<std::string, std::string>, Runs>> groups;
  for (const ComparedRun& run : runs) {
    const std::pair key(run.case_name, run.label);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == key; });
    if (found == groups.end())
      groups.emplace_back(key, Runs{&run});
    else
      found->second.push_back(&run);
  }
  std::vector<ComparedRow> rows;
  for (const auto& [key, group] : groups) rows.push_back(row_of(group, target));
  for (ComparedRow& row : rows) {
    row.workload = strategy_of(row, strategies).workload;
    row.carries = strategy_of(row, strategies).baselines;
    for (const std::string& name : yardsticks(strategies)) {
      const ComparedRow* by_step =
          fastest(rows, strategies, name, row.case_name, &ComparedRow::step_seconds);
      const ComparedRow* by_target =
          fastest(rows, strategies, name, row.case_name, &ComparedRow::time_to_target);
      row.speedups.push_back({.name = name,
                              .label = by_step ? by_step->label : "",
                              .of_step = speedup(row, by_step, &ComparedRow::step_seconds),
                              .target_label = by_target ? by_target->label : "",
                              .to_target = speedup(row, by_target, &ComparedRow::time_to_target)});
    }
  }
  return rows;
}

}  // namespace huddle
