#include "huddle/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Runs = std::vector<const ComparedRun*>;
using FigureOf = std::function<std::optional<double>(const ComparedRun&)>;

// Of the runs that have the figure; nothing where none has.
std::optional<Spread> spread_over(const Runs& runs, const FigureOf& figure) {
  std::vector<double> values;
  for (const ComparedRun* run : runs)
    if (const auto value = figure(*run)) values.push_back(*value);
  return spread_of(values);
}

std::optional<double> mean_of(const Runs& runs, const FigureOf& figure) {
  const auto spread = spread_over(runs, figure);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

FigureOf named(ModelFigures RunOutcome::*figures, const char* name) {
  return [=](const ComparedRun& run) { return figure_of(run.outcome.*figures, name); };
}

FigureOf of(std::optional<double> RunOutcome::*figure) {
  return [=](const ComparedRun& run) { return run.outcome.*figure; };
}

// Of the moment when the target was reached.
FigureOf at_target(double Reached::*figure) {
  return [=](const ComparedRun& run) {
    return run.reached ? std::optional(*run.reached.*figure) : std::nullopt;
  };
}

// Of one kind of time in all that passed, over all workers.
FigureOf share(Seconds TimeSplit::*kind) {
  return [=](const ComparedRun& run) {
    Seconds part = 0;
    Seconds all = 0;
    for (const TimeSplit& time : run.outcome.time) {
      part += time.*kind;
      all += time.compute + time.wait + time.exchange;
    }
    return all > 0 ? std::optional(part / all) : std::nullopt;
  };
}

// What the worker counts for that counts least, of an equal share: its steps, and the rate at which
// it learns from them.
std::optional<double> least_heard(const ComparedRun& run) {
  const std::vector<double>& shares = run.outcome.share_by_worker;
  const std::vector<double>& factors = run.outcome.rate_factor_by_worker;
  if (std::ranges::adjacent_find(shares, std::not_equal_to<>()) == shares.end()) return {};
  double least = 1;
  for (std::size_t worker = 0; worker < shares.size(); ++worker)
    least = std::min(least, shares[worker] * (worker < factors.size() ? factors[worker] : 1));
  return least * static_cast<double>(shares.size());
}

// The bottleneck of most runs; with as many for two, that of the first.
std::string usual_bottleneck(const Runs& runs) {
  std::vector<std::string> names;
  for (const ComparedRun* run : runs)
    if (const auto link = bottleneck_of(run->outcome)) names.push_back(link->link.name);
  const auto most = std::ranges::max_element(
      names, {}, [&](const std::string& name) { return std::ranges::count(names, name); });
  return most == names.end() ? "" : *most;
}

// One strategy in one case, with those of its runs that ended well.
struct Contestant {
  ComparedRow row;
  Runs runs;
};

void add_target(ComparedRow& row, const Runs& runs) {
  for (const ComparedRun* run : runs) {
    row.reached += run->reached ? 1 : 0;
    row.forms_at_target = row.forms_at_target || (run->reached && run->reached->must_form);
  }
  if (row.reached < row.seeds) return;
  row.time_to_target = spread_over(runs, at_target(&Reached::time));
  row.bytes_to_target = mean_of(runs, at_target(&Reached::bytes_per_worker));
}

Contestant contestant_of(const Runs& all) {
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
  row.step_seconds = spread_over(runs, of(&RunOutcome::step_seconds));
  add_target(row, runs);
  row.accuracy_consensus = spread_over(runs, named(&RunOutcome::accuracy, "consensus"));
  row.accuracy_worker_mean = spread_over(runs, named(&RunOutcome::accuracy, "worker_mean"));
  row.accuracy_swa = spread_over(runs, named(&RunOutcome::accuracy, "swa"));
  row.loss_consensus = spread_over(runs, named(&RunOutcome::test_loss, "consensus"));
  row.drift = spread_over(runs, of(&RunOutcome::drift));
  row.bytes_sent_per_worker = mean_of(runs, of(&RunOutcome::bytes_sent_per_worker));
  row.wait = mean_of(runs, share(&TimeSplit::wait));
  row.exchange = mean_of(runs, share(&TimeSplit::exchange));
  row.hidden = mean_of(runs, share(&TimeSplit::hidden));
  row.least_heard = mean_of(runs, least_heard);
  row.bottleneck = usual_bottleneck(runs);
  return {std::move(row), std::move(runs)};
}

const ComparedStrategy& strategy_of(const std::string& label,
                                    std::span<const ComparedStrategy> strategies) {
  const auto found = std::ranges::find(strategies, label, &ComparedStrategy::label);
  check(found != strategies.end(), "a run of a strategy that nobody named");
  return *found;
}

std::vector<std::string> yardsticks(std::span<const ComparedStrategy> strategies) {
  std::vector<std::string> names;
  for (const ComparedStrategy& strategy : strategies)
    for (const std::string& name : strategy.baselines)
      if (!is_among(names, name)) names.push_back(name);
  return names;
}

// The one that carries `name` in this case and has the least of `time`. Nobody where one of them
// failed: it might have been the fastest.
const Contestant* fastest(const std::vector<Contestant>& all,
                          std::span<const ComparedStrategy> strategies, const std::string& name,
                          const std::string& case_name, std::optional<Spread> ComparedRow::*time) {
  const Contestant* best = nullptr;
  for (const Contestant& one : all) {
    const std::vector<std::string>& names = strategy_of(one.row.label, strategies).baselines;
    if (one.row.case_name != case_name || !is_among(names, name)) continue;
    if (!one.row.is_whole()) return nullptr;
    if (one.row.*time && (!best || (one.row.*time)->mean < (best->row.*time)->mean)) best = &one;
  }
  return best;
}

// What `combine` makes of both, for every seed that both have.
std::vector<double> paired(const Contestant& one, const Contestant* other, const FigureOf& figure,
                           double (*combine)(double of_one, double of_other)) {
  if (!other) return {};
  std::vector<double> pairs;
  for (const ComparedRun* run : one.runs) {
    const auto same = std::ranges::find(other->runs, run->seed, &ComparedRun::seed);
    const auto of_one = figure(*run);
    const auto of_other = same == other->runs.end() ? std::nullopt : figure(**same);
    if (of_one && of_other) pairs.push_back(combine(*of_one, *of_other));
  }
  return pairs;
}

// How many times as fast, by seed.
std::vector<double> times_as_fast(const Contestant& one, const Contestant* other,
                                  const FigureOf& seconds) {
  std::vector<double> ratios = paired(one, other, seconds, [](double of_one, double of_other) {
    return of_one > 0 ? of_other / of_one : 0;
  });
  if (is_among(ratios, 0)) ratios.clear();
  return ratios;
}

Speedup speedup_over(const std::string& name, const Contestant& one, const Contestant* by_step,
                     const Contestant* by_target) {
  const auto points =
      paired(one, by_step, named(&RunOutcome::accuracy, "consensus"),
             [](double of_one, double of_other) { return 100 * (of_one - of_other); });
  // Times of some seeds alone do not count.
  const Contestant* counted_to_target = one.row.time_to_target ? by_target : nullptr;
  return {
      .name = name,
      .label = by_step ? by_step->row.label : "",
      .of_step = measured_ratio(times_as_fast(one, by_step, of(&RunOutcome::step_seconds))),
      .target_label = by_target ? by_target->row.label : "",
      .to_target = measured_ratio(times_as_fast(one, counted_to_target, at_target(&Reached::time))),
      .points = measured_mean(points)};
}

}  // namespace

std::optional<double> figure_of(const ModelFigures& figures, const std::string& model) {
  const auto found = figures.find(model);
  return found == figures.end() ? std::nullopt : found->second;
}

std::optional<ConsensusCost> consensus_cost(const RunOutcome& average) {
  if (!average.is_complete() || !average.seconds) return {};
  Seconds computing = 0;
  for (const TimeSplit& time : average.time) computing = std::max(computing, time.compute);
  return ConsensusCost{std::max(0.0, *average.seconds - computing),
                       average.bytes_sent_per_worker.value_or(0)};
}

std::optional<Target> target_for(const Target& target, const std::string& case_name, int seed,
                                 std::span<const ComparedRun> runs,
                                 std::span<const ComparedStrategy> strategies) {
  if (target.baseline.empty()) return target;
  std::optional<double> best;
  for (const ComparedRun& run : runs) {
    const std::vector<std::string>& names = strategy_of(run.label, strategies).baselines;
    if (run.case_name != case_name || !is_among(names, target.baseline)) continue;
    if (!run.outcome.is_complete()) return {};
    if (run.seed == seed) best = std::max(best, figure_of(run.outcome.accuracy, "consensus"));
  }
  if (!best) return {};
  return Target{.of = target.of, .value = *best - target.below};
}

std::optional<Target> mean_target(const std::string& case_name, std::span<const ComparedRun> runs) {
  std::map<int, Target> by_seed;
  for (const ComparedRun& run : runs)
    if (run.case_name == case_name && run.target) by_seed[run.seed] = *run.target;
  if (by_seed.empty()) return {};
  Target mean = by_seed.begin()->second;
  mean.value = 0;
  for (const auto& [seed, target] : by_seed)
    mean.value += target.value / static_cast<double>(by_seed.size());
  return mean;
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
  RunOutcome both = trained;
  if (!trained.is_complete()) {  // Its times are those of a smaller model, and mean nothing.
    both.seconds = both.step_seconds = both.bytes_sent_per_worker = std::nullopt;
    both.time.clear();
    both.links.clear();
    both.curve.clear();
    return both;
  }
  both.seconds = timed.seconds;
  both.step_seconds = timed.step_seconds;
  both.bytes_sent_per_worker = timed.bytes_sent_per_worker;
  both.time = timed.time;
  both.steps_by_worker = timed.steps_by_worker;
  both.share_by_worker = timed.share_by_worker;
  both.links = timed.links;
  both.curve = retimed(trained.curve, ends);
  both.warnings.insert(both.warnings.end(), timed.warnings.begin(), timed.warnings.end());
  return both;
}

std::optional<Bottleneck> bottleneck_of(const RunOutcome& outcome) {
  return bottleneck(outcome.links, outcome.seconds.value_or(0));
}

std::vector<ComparedRow> compare_runs(std::span<const ComparedRun> runs,
                                      std::span<const ComparedStrategy> strategies) {
  nlohmann::ordered_map<std::pair<std::string, std::string>, Runs> groups;
  for (const ComparedRun& run : runs) groups[{run.case_name, run.label}].push_back(&run);
  std::vector<Contestant> all;
  for (const auto& [key, group] : groups) all.push_back(contestant_of(group));
  std::vector<ComparedRow> rows;
  for (const Contestant& one : all) {
    ComparedRow row = one.row;
    row.workload = strategy_of(row.label, strategies).workload;
    const std::map<std::string, std::string>& tuned = strategy_of(row.label, strategies).tuned;
    if (const auto rate = tuned.find(row.case_name); rate != tuned.end()) {
      row.tuned = true;
      row.workload["lr"] = rate->second;
    }
    row.carries = strategy_of(row.label, strategies).baselines;
    for (const std::string& name : yardsticks(strategies))
      row.speedups.push_back(speedup_over(
          name, one, fastest(all, strategies, name, row.case_name, &ComparedRow::step_seconds),
          fastest(all, strategies, name, row.case_name, &ComparedRow::time_to_target)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace huddle
