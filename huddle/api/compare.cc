#include "huddle/api/compare.h"

#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "huddle/api/engines.h"
#include "huddle/api/run.h"
#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/compare/scenario/children.h"
#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/report/format.h"
#include "huddle/report/page/html_report.h"
#include "huddle/report/progress.h"
#include "huddle/strategy/registry.h"

namespace huddle {
namespace {

// Of a child whose configuration cannot work, as of the program's commands.
constexpr int kWrongUsage = 2;

struct PlannedTrial {
  std::string id;
  std::size_t case_index;
  Trial trial;
};

template <typename Value>
void require_distinct(const std::vector<Value>& values, const std::string& what) {
  if (values.empty()) throw UsageError(concat("compare() has no ", what, "s; name at least one."));
  for (std::set<Value> seen; const Value& value : values)
    if (!seen.insert(value).second)
      throw UsageError(
          concat("compare() names the ", what, " ", value, " twice; each may come once."));
}

void check_folder(const CompareOptions& options) {
  const std::string place = concat("out = '", options.out.string(), "'");
  if (options.out.empty()) throw UsageError("compare() needs a folder: {.out = \"out/own\"}.");
  for (const auto& [name, kind] :
       {std::pair("results.json", OwnFile::results), std::pair("report.html", OwnFile::report)})
    check_replaceable(options.out / name, kind, options.older, place, ".older = Older::replace");
}

// "lan", "lan 2": two clusters may bear one name.
std::vector<Comparison::Case> cases_of(const std::vector<Engine>& engines) {
  std::vector<Comparison::Case> cases;
  std::set<std::string> taken;
  for (const Engine& engine : engines) {
    const std::string stem = std::filesystem::path(engine.cluster_file).stem().string();
    const std::string base = !engine.cluster.name.empty() ? engine.cluster.name
                             : !stem.empty()              ? stem
                                                          : engine.spec;
    std::string name = base;
    for (int number = 2; !taken.insert(name).second; ++number) name = concat(base, " ", number);
    cases.push_back({.name = name,
                     .text = concat(engine.cluster.workers, " workers, engine ", engine.spec, "."),
                     .cluster = engine.cluster_file});
  }
  return cases;
}

std::vector<PlannedTrial> planned(const std::vector<Comparison::Case>& cases,
                                  const std::vector<std::string>& strategies,
                                  const CompareOptions& options) {
  std::vector<PlannedTrial> trials;
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (std::size_t j = 0; j < strategies.size(); ++j)
      for (const int seed : options.seeds)
        trials.push_back({concat(i + 1, "-", safe_name(cases[i].name), "/", j + 1, "-",
                                 safe_name(strategies[j]), "/", seed),
                          i,
                          {strategies[j], seed}});
  return trials;
}

// In the child: makes the run, and tells of what went wrong as the program's commands do.
int made(const Engine& engine, const CompareBody& body, const Trial& trial,
         const RunOptions& options) {
  const auto tell = [](const char* what) { std::fprintf(stderr, "%s\n", what); };
  try {
    run(
        engine, [&](Worker& worker) { body(worker, trial); }, options);
    return 0;
  } catch (const UsageError& error) {
    tell(error.what());
    return kWrongUsage;
  } catch (const std::exception& error) {
    tell(error.what());
  } catch (...) {
    tell("an exception of unknown type");
  }
  return 1;
}

// How all of them ended, in their order.
std::vector<ChildEnd> carried_out(const std::vector<PlannedTrial>& trials,
                                  const std::vector<Engine>& engines, const CompareBody& body,
                                  const CompareOptions& options) {
  std::vector<ChildCommand> commands;
  bool is_real_time = false;
  for (const PlannedTrial& planned : trials) {
    const Engine& engine = engines[planned.case_index];
    is_real_time = is_real_time || !is_simulated(engine.spec);
    commands.push_back({.body = [&, folder = options.out / "runs" / planned.id] {
      return made(engine, body, planned.trial,
                  {.out = folder,
                   .report = false,
                   .timeline = options.timeline,
                   .older = Older::replace,
                   .evaluate_every = options.evaluate_every,
                   .seed = static_cast<std::uint64_t>(planned.trial.seed),
                   .data = options.data,
                   .title = planned.trial.strategy});
    }});
  }
  std::vector<ChildEnd> ends(trials.size());
  std::string refused;
  Children children(is_real_time ? 1 : options.jobs > 0 ? options.jobs : usable_cores());
  children.run(
      commands,
      // What is left of an earlier run must not be taken for this one's.
      [&](std::size_t index) {
        std::filesystem::remove(options.out / "runs" / trials[index].id / "summary.json");
      },
      [&](std::size_t index, const ChildEnd& end) {
        ends[index] = end;
        if (end.exit_status != kWrongUsage || !refused.empty()) return;
        refused = concat("the strategy ", trials[index].trial.strategy, ": ", failure_of(end));
        children.stop();
      },
      [](auto) {});
  if (!refused.empty()) throw UsageError(refused);
  return ends;
}

RunOutcome outcome_of(const std::filesystem::path& folder, const ChildEnd& end) {
  const bool failed = end.exit_status != 0 || end.signal != 0;
  const std::optional<RunOutcome> outcome = read_outcome(folder);
  if (outcome && !(outcome->is_complete() && failed)) return *outcome;
  return {.status = concat("failed: ", failure_of(end))};
}

// Where no strategy is a `bsp`, the first is what others are measured by.
std::vector<ComparedStrategy> yardsticks(const std::vector<std::string>& strategies) {
  std::vector<ComparedStrategy> compared;
  std::size_t yardstick = 0;
  for (std::size_t i = strategies.size(); i-- > 0;)
    if (parse_spec(strategies[i]).name == "bsp") yardstick = i;
  for (const std::string& strategy : strategies) compared.push_back({.label = strategy});
  compared[yardstick].baselines.push_back(strategies[yardstick]);
  return compared;
}

void write_results(const Comparison& all, const WallClock& wall, const CompareOptions& options) {
  const std::filesystem::path file = options.out / "results.json";
  if (const auto error = replace_file(file, {results_json(all, wall, HUDDLE_VERSION)}))
    throw Error(concat("cannot write '", file.string(), "': ", error.message(), "."));
  if (can_write_report()) write_report({options.out}, options.out / "report.html");
}

}  // namespace

Comparison compare(const std::vector<Engine>& engines, const std::vector<std::string>& strategies,
                   const CompareBody& body, const CompareOptions& options) {
  if (engines.empty()) throw UsageError("compare() has no engine; give one, as threads(4).");
  require_distinct(strategies, "strategy");
  require_distinct(options.seeds, "seed");
  for (const std::string& strategy : strategies) traits_of(strategy);
  check_folder(options);
  Comparison all{.name = "own", .title = options.title, .cases = cases_of(engines)};
  for (const Engine& engine : engines)
    if (!is_simulated(engine.spec))
      all.note = "Runs on threads were made one after another, in real time: times vary.";
  const std::vector<PlannedTrial> trials = planned(all.cases, strategies, options);
  const Seconds begun = steady_seconds();
  const std::vector<ChildEnd> ends = carried_out(trials, engines, body, options);
  WallClock wall{.machine = machine_description(), .seconds = steady_seconds() - begun};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const PlannedTrial& planned = trials[i];
    wall.by_run[planned.id] = ends[i].seconds;
    all.runs.push_back({.id = planned.id,
                        .case_name = all.cases[planned.case_index].name,
                        .label = planned.trial.strategy,
                        .strategy = planned.trial.strategy,
                        .seed = planned.trial.seed,
                        .outcome = outcome_of(options.out / "runs" / planned.id, ends[i])});
  }
  all.table = compare_runs(all.runs, yardsticks(strategies));
  write_results(all, wall, options);
  return all;
}

Comparison compare(const Engine& engine, const std::vector<std::string>& strategies,
                   const CompareBody& body, const CompareOptions& options) {
  return compare(std::vector{engine}, strategies, body, options);
}

}  // namespace huddle
