#include "huddle/api/compare.h"

#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "huddle/api/run.h"
#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/compare/scenario/children.h"
#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/report/format.h"
#include "huddle/report/page/html_report.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/logged_run.h"

namespace huddle {
namespace {

// Of a child whose configuration cannot work, as of the program's commands.
constexpr int kWrongUsage = 2;

template <typename Value>
void require_distinct(const std::vector<Value>& values, const char* what) {
  if (values.empty()) throw UsageError(concat("compare() has no ", what, "; name at least one."));
  for (std::set<Value> seen; const Value& value : values)
    if (!seen.insert(value).second)
      throw UsageError(concat("compare() has the ", what, " ", value, " twice; name it once."));
}

std::string case_name(const Engine& engine) {
  return engine.cluster.name.empty() ? engine.spec : engine.cluster.name;
}

void check_comparison(const std::vector<Engine>& engines,
                      const std::vector<std::string>& strategies, const CompareOptions& options) {
  std::vector<std::string> cases;
  for (const Engine& engine : engines) cases.push_back(case_name(engine));
  require_distinct(cases, "cluster");
  require_distinct(strategies, "strategy");
  require_distinct(options.seeds, "seed");
  for (const std::string& strategy : strategies) traits_of(strategy);
  if (options.out.empty()) throw UsageError("compare() needs a folder: {.out = \"out/own\"}.");
  const std::string place = concat("out = '", options.out.string(), "'");
  for (const auto& [name, kind] :
       {std::pair("results.json", OwnFile::results), std::pair("report.html", OwnFile::report)})
    check_replaceable(options.out / name, kind, options.older, place, ".older = Older::replace");
}

// In the child: makes the run, and tells of what went wrong as the program's commands do.
int make_run(const Engine& engine, const std::function<void(Worker&)>& body,
             const RunOptions& options) {
  try {
    run(engine, body, options);
    return 0;
  } catch (const UsageError& error) {
    std::fputs(error.what(), stderr);
    return kWrongUsage;
  } catch (...) {
    std::fputs(ending_of(std::current_exception()).message.c_str(), stderr);
    return 1;
  }
}

ChildCommand command_of(const ComparedRun& planned, const Engine& engine, const CompareBody& body,
                        const CompareOptions& options) {
  const Trial trial{planned.strategy, planned.seed};
  const RunOptions run_options{.out = options.out / "runs" / planned.id,
                               .report = false,
                               .timeline = options.timeline,
                               .older = Older::replace,
                               .evaluate_every = options.evaluate_every,
                               .seed = static_cast<std::uint64_t>(planned.seed),
                               .data = options.data,
                               .batch = options.batch,
                               .title = planned.strategy};
  return {.body = [=, &engine, &body] {
    return make_run(
        engine, [&](Worker& worker) { body(worker, trial); }, run_options);
  }};
}

RunOutcome outcome_of(const std::filesystem::path& folder, const ChildEnd& end) {
  const bool failed = end.exit_status != 0 || end.signal != 0;
  const std::optional<RunOutcome> outcome = read_outcome(folder);
  if (outcome && !(outcome->is_complete() && failed)) return *outcome;
  return {.status = concat("failed: ", failure_of(end))};
}

// Completes the runs. Throws UsageError as soon as one of them cannot be made at all.
WallClock carry_out(const std::vector<ChildCommand>& commands, int at_once,
                    const std::filesystem::path& folder, std::vector<ComparedRun>& runs) {
  WallClock wall{.machine = machine_description()};
  std::string refused;
  Children children(at_once);
  children.run(
      commands,
      [&](std::size_t index) {  // An earlier run's must not be taken for this one's.
        std::filesystem::remove(folder / runs[index].id / "summary.json");
      },
      [&](std::size_t index, const ChildEnd& end) {
        ComparedRun& run = runs[index];
        run.outcome = outcome_of(folder / run.id, end);
        wall.by_run[run.id] = end.seconds;
        if (end.exit_status != kWrongUsage || !refused.empty()) return;
        refused = concat("the strategy ", run.strategy, ": ", failure_of(end));
        children.stop();
      },
      [](auto) {});
  if (!refused.empty()) throw UsageError(refused);
  return wall;
}

// Where no strategy is a `bsp`, the first is what others are measured by.
std::vector<ComparedStrategy> with_yardstick(const std::vector<std::string>& strategies) {
  std::vector<ComparedStrategy> compared;
  std::size_t yardstick = 0;
  for (std::size_t i = strategies.size(); i-- > 0;)
    if (parse_spec(strategies[i]).name == "bsp") yardstick = i;
  for (const std::string& strategy : strategies) compared.push_back({.label = strategy});
  compared[yardstick].baselines.push_back(strategies[yardstick]);
  return compared;
}

}  // namespace

Comparison compare(const std::vector<Engine>& engines, const std::vector<std::string>& strategies,
                   const CompareBody& body, const CompareOptions& options) {
  check_comparison(engines, strategies, options);
  Comparison all{.name = "own", .title = options.title};
  std::vector<ChildCommand> commands;
  int at_once = options.jobs > 0 ? options.jobs : usable_cores();
  for (const Engine& engine : engines) {
    all.cases.push_back(
        {.name = case_name(engine),
         .text = concat(engine.cluster.workers, " workers, engine ", engine.spec, ".")});
    for (const std::string& strategy : strategies)
      for (const int seed : options.seeds) {
        all.runs.push_back({.id = concat(all.runs.size() + 1, "-", safe_name(strategy)),
                            .case_name = all.cases.back().name,
                            .label = strategy,
                            .strategy = strategy,
                            .seed = seed});
        commands.push_back(command_of(all.runs.back(), engine, body, options));
      }
    if (is_simulated(engine.spec)) continue;
    at_once = 1;
    all.note = "Runs on threads were made one after another, in real time: times vary.";
  }
  const Seconds begun = steady_seconds();
  WallClock wall = carry_out(commands, at_once, options.out / "runs", all.runs);
  wall.seconds = steady_seconds() - begun;
  all.table = compare_runs(all.runs, with_yardstick(strategies));
  const std::filesystem::path file = options.out / "results.json";
  if (const auto error = replace_file(file, {results_json(all, wall, HUDDLE_VERSION)}))
    throw Error(concat("cannot write '", file.string(), "': ", error.message(), "."));
  if (can_write_report()) write_report({options.out}, options.out / "report.html");
  return all;
}

}  // namespace huddle
