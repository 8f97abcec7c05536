// `huddle compare`: every strategy of a scenario on the same workload in the same clusters, each
// run in a process of its own, and one table of it all.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/compare_rules.h"
#include "huddle/cli/interrupt.h"
#include "huddle/cli/number_option.h"
#include "huddle/cli/train/train_check.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/compare/comparison_table.h"
#include "huddle/compare/scenario/children.h"
#include "huddle/compare/scenario/comparison_folder.h"
#include "huddle/compare/scenario/scenario_folder.h"
#include "huddle/compare/scenario/tuning.h"
#include "huddle/report/format.h"
#include "huddle/report/page/html_report.h"
#include "huddle/report/runs_progress.h"

namespace huddle {
namespace {

// In the folder of each run.
constexpr const char* kTimeline = "timeline.json";

struct CompareConfig {
  std::string scenario;
  std::string out;
  int jobs = 0;
  std::vector<int> seeds;
  bool json = false;
  bool quiet = false;
  bool fresh = false;
  bool replace = false;
  bool timeline = false;
  bool wide = false;
};

// Everything that has to be run, and how those ended that were.
struct Work {
  std::vector<const PlannedRun*> runs;  // Trainings first: they take longest.
  std::set<const PlannedRun*> done_before;
  std::map<const PlannedRun*, ChildEnd> ends;
  bool is_stopped = false;  // By the user.
  int outdated = 0;         // Finished, but by another build.
};

void check_config(const CLI::App& command, const CompareConfig& config) {
  if (command.count("--out") > 0 && config.out.empty())
    throw UsageError("--out is empty; name a folder.");
  if (std::set<int>(config.seeds.begin(), config.seeds.end()).size() != config.seeds.size())
    throw UsageError("--seeds names a seed twice; each may come once, as --seeds 1,2,3.");
}

// Runs are made in the comparison's folder, where a path seen from here would lead nowhere.
void keep_data_in_sight(WorkloadOptions& workload) {
  const auto place = workload.find("data_dir");
  if (place != workload.end() && !place->second.starts_with("~"))
    place->second = std::filesystem::absolute(place->second).string();
}

using PlannedRuns = std::vector<const PlannedRun*>;

PlannedRuns tunings_of(const ComparisonPlan& plan) {
  PlannedRuns runs;
  for (const TuningRun& tuning : plan.tunings) runs.push_back(&tuning.run);
  return runs;
}

// All but the tunings.
PlannedRuns runs_of(const ComparisonPlan& plan) {
  PlannedRuns runs;
  for (const auto* list : {&plan.trainings, &plan.averages, &plan.runs})
    for (const PlannedRun& run : *list)
      if (!run.timed_in) runs.push_back(&run);
  return runs;
}

Work work_of(const PlannedRuns& runs, const ComparisonFolder& folder, const CompareConfig& config) {
  Work work;
  for (const PlannedRun* run : runs) {
    const bool lacks_timeline =
        config.timeline && !std::filesystem::exists(folder.run(*run) / kTimeline);
    if (!config.fresh && !lacks_timeline && folder.is_done(*run))
      work.done_before.insert(run);
    else
      work.runs.push_back(run);
    if (folder.is_outdated(*run)) ++work.outdated;
  }
  return work;
}

RunsState state_before(const Work& work) {
  RunsState state;
  state.done = static_cast<int>(work.done_before.size());
  state.total = state.done + static_cast<int>(work.runs.size());
  for (const PlannedRun* run : work.done_before) state.work_done += run->work;
  state.work_total = state.work_done;
  for (const PlannedRun* run : work.runs) state.work_total += run->work;
  return state;
}

bool was_interrupted(const ChildEnd& end, bool is_stopped) {
  const bool was_killed_at_last = is_stopped && end.signal == SIGKILL;
  return end.exit_status == 130 || end.signal == SIGINT || was_killed_at_last;
}

// Whatever its summary says. Whoever is interrupted after it has done all there was to do.
bool has_failed(const ChildEnd& end, bool is_stopped) {
  return (end.exit_status != 0 || end.signal != 0) && !was_interrupted(end, is_stopped);
}

Work carried_out(const PlannedRuns& runs, const ComparisonFolder& folder, Children& children,
                 const CompareConfig& config) {
  Work work = work_of(runs, folder, config);
  if (!config.quiet && work.outdated > 0)
    fmt::print(stderr, "huddle: {} finished runs were made by another build and are made again.\n",
               work.outdated);
  // Not /proc/self/exe, which is the launcher where there is one.
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<ChildCommand> commands;
  for (const PlannedRun* run : work.runs) {
    commands.push_back({run->launcher, folder.path()});
    std::vector<std::string>& arguments = commands.back().arguments;
    arguments.push_back(program);
    arguments.insert(arguments.end(), run->arguments.begin(), run->arguments.end());
    if (config.timeline)
      arguments.insert(arguments.end(), {"--timeline", concat("runs/", run->id, "/", kTimeline)});
  }
  RunsProgress progress(stderr, config.quiet ? ProgressMode::quiet : progress_mode(stderr));
  RunsState state = state_before(work);
  children.run(
      commands, [&](std::size_t index) { folder.begin(*work.runs[index]); },
      [&](std::size_t index, const ChildEnd& end) {
        const PlannedRun* run = work.runs[index];
        work.ends[run] = end;
        if (has_failed(end, children.is_stopped()))
          folder.disown(*run);
        else
          folder.end(*run, end.seconds);
        if (!was_interrupted(end, children.is_stopped())) {
          state.done += 1;
          state.work_done += run->work;
        }
        state.running.clear();
        progress.update(state);
      },
      [&](std::span<const std::size_t> running) {
        state.running.clear();
        for (const std::size_t index : running) state.running.push_back(work.runs[index]->id);
        progress.update(state);
      });
  work.is_stopped = children.is_stopped();
  return work;
}

// Why a run without a summary has none.
std::string status_of(const ChildEnd& end, bool is_stopped) {
  if (was_interrupted(end, is_stopped)) return "interrupted";
  return concat("failed: ", failure_of(end));
}

RunOutcome outcome_of(const PlannedRun& run, const Work& work, const ComparisonFolder& folder) {
  const auto end = work.ends.find(&run);
  if (end == work.ends.end() && !work.done_before.contains(&run)) return {};
  const bool failed = end != work.ends.end() && has_failed(end->second, work.is_stopped);
  const std::optional<RunOutcome> outcome = read_outcome(folder.run(run));
  if (outcome && !(outcome->is_complete() && failed)) return *outcome;
  return {.status = end == work.ends.end() ? "failed: its summary is gone"
                                           : status_of(end->second, work.is_stopped)};
}

// What a reader must know where time is not simulated.
std::string note_of(const Scenario& scenario, const PlanRules& rules) {
  if (is_simulated(rules.engine)) return "";
  std::set<std::string> left_out;
  for (const ScenarioCase& one : scenario.cases)
    for (const std::string& part : left_out_by_engine(rules.engine, one.cluster))
      left_out.insert(part);
  const std::vector<std::string> parts(left_out.begin(), left_out.end());
  return concat(scenario.engine.empty() ? "This build has no SimGrid. " : "",
                "The runs were made on ", rules.engine,
                ", one after another in real time, and their times vary from run to run.",
                parts.empty() ? "" : concat(" Left out of the clusters: ", joined(parts), "."));
}

// Strategies as rows name them. Where the scenario has no baseline, BSP is it.
std::vector<ComparedStrategy> strategies_of(const Scenario& scenario) {
  const bool has_baseline =
      std::any_of(scenario.strategies.begin(), scenario.strategies.end(),
                  [](const ScenarioStrategy& strategy) { return !strategy.baselines.empty(); });
  std::vector<ComparedStrategy> strategies;
  for (const ScenarioStrategy& strategy : scenario.strategies) {
    strategies.push_back({strategy.label, strategy.baselines, strategy.workload, strategy.tuned});
    if (!has_baseline && parse_spec(strategy.run).name == "bsp")
      strategies.back().baselines.push_back("bsp");
  }
  return strategies;
}

// When each run reached the target of its case.
void judge_targets(Comparison& all, const Scenario& scenario, const ComparisonPlan& plan,
                   const Work& work, const ComparisonFolder& folder) {
  if (!all.target) return;
  const std::vector<ComparedStrategy> strategies = strategies_of(scenario);
  for (std::size_t i = 0; i < all.cases.size(); ++i)
    all.cases[i].consensus = consensus_cost(outcome_of(plan.averages[i], work, folder));
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    Comparison::Case& one = all.cases[plan.runs[i].case_index];
    ComparedRun& run = all.runs[i];
    run.target = target_for(*all.target, one.name, run.seed, all.runs, strategies);
    if (!run.target || !run.outcome.is_complete()) continue;
    run.reached = reach(*run.target, run.outcome.curve, one.consensus);
    if (run.reached)
      run.reached->bytes_per_worker +=
          read_bytes_sent(folder.run(plan.timed(plan.runs[i])), run.reached->trained_until);
  }
  for (Comparison::Case& one : all.cases) one.target = mean_target(one.name, all.runs);
}

Comparison gather(const Scenario& scenario, const ComparisonPlan& plan, const Work& work,
                  const ComparisonFolder& folder) {
  Comparison all{.name = scenario.name,
                 .title = scenario.title,
                 .text = scenario.text,
                 .claim = scenario.claim,
                 .assumptions = scenario.assumptions,
                 .target = scenario.target,
                 .source = scenario.source,
                 .note = note_of(scenario, plan_rules(scenario.engine))};
  for (std::size_t i = 0; i < scenario.cases.size(); ++i)
    all.cases.push_back({scenario.cases[i].name, scenario.cases[i].text, plan.case_files[i]});
  std::vector<RunOutcome> trained;
  for (const PlannedRun& run : plan.trainings) {
    trained.push_back(outcome_of(run, work, folder));
    all.trainings.push_back({run.id, scenario.strategies[run.strategy_index].run, run.seed,
                             trained.back().status, command_text(run)});
  }
  for (const PlannedRun& run : plan.runs) {
    const PlannedRun& timed = plan.timed(run);
    RunOutcome outcome = outcome_of(timed, work, folder);
    if (run.trained_in) {
      const RunOutcome& values = trained[*run.trained_in];
      const bool has_curve = !values.curve.empty() && outcome.is_complete();
      outcome = joined_outcome(values, outcome,
                               has_curve ? read_step_ends(folder.run(timed)) : std::vector<Time>{});
    }
    const ScenarioStrategy& strategy = scenario.strategies[run.strategy_index];
    all.runs.push_back({.id = run.id,
                        .case_name = scenario.cases[run.case_index].name,
                        .label = strategy.label,
                        .strategy = strategy.run,
                        .seed = run.seed,
                        .trained_in = run.trained_in ? plan.trainings[*run.trained_in].id : "",
                        .timed_in = run.timed_in ? timed.id : "",
                        .command = command_text(timed),
                        .outcome = std::move(outcome)});
  }
  judge_targets(all, scenario, plan, work, folder);
  all.table = compare_runs(all.runs, strategies_of(scenario));
  const bool was_left_alone = std::none_of(all.runs.begin(), all.runs.end(), [](const auto& run) {
    return run.outcome.status == "interrupted";
  });
  for (const Expectation& expectation : scenario.expectations)
    if (was_left_alone) all.verdicts.push_back(judge(expectation, all.table));
  return all;
}

int interrupted() {
  fmt::print(stderr, "huddle: interrupted; the same command goes on where this one stopped.\n");
  return 130;
}

// Writes and prints what the comparison came to, and returns the exit status.
int conclude(const Comparison& all, const WallClock& wall, const ComparisonFolder& folder,
             const CompareConfig& config) {
  const std::string results = results_json(all, wall, HUDDLE_VERSION);
  folder.write("results.json", results);
  const std::filesystem::path report = folder.path() / "report.html";
  if (can_write_report()) write_report({folder.path()}, report);
  if (config.json)
    fmt::print("{}", results);
  else if (!config.quiet)
    fmt::print("{}\n{}\n", comparison_text(all, config.wide ? Columns::all : Columns::that_fit),
               can_write_report() ? concat("Report: ", report.string())
                                  : concat("Results: ", (folder.path() / "results.json").string()));
  bool is_interrupted = false;
  bool has_failed = false;
  for (const ComparedRun& run : all.runs) {
    is_interrupted = is_interrupted || run.outcome.status == "interrupted";
    has_failed = has_failed || !run.outcome.is_complete();
  }
  if (is_interrupted) return interrupted();
  const bool all_holds = std::all_of(all.verdicts.begin(), all.verdicts.end(),
                                     [](const Verdict& verdict) { return verdict.holds; });
  return has_failed || !all_holds ? 1 : 0;
}

int compare_command(const CLI::App& command, const CompareConfig& config) {
  check_config(command, config);
  Children children(config.jobs > 0 ? config.jobs : usable_cores());
  // Before anything starts a thread, which would get the signal. Ten times its patience, after
  // which the process ends, is longer than children are given.
  const InterruptWatcher watcher([&children] { children.stop(); }, [] {}, 6);
  Scenario scenario = read_scenario(find_scenario(config.scenario), scenario_rules());
  const PlanRules rules = plan_rules(scenario.engine);
  if (!is_simulated(rules.engine)) {
    require(config.jobs <= 1,
            concat("--jobs ", config.jobs, ": runs on ", rules.engine,
                   " take real time, and would disturb one another; leave the option out."));
    children.set_at_once(1);
  }
  for (ScenarioCase& one : scenario.cases) {
    if (!config.seeds.empty()) one.seeds = config.seeds;
    keep_data_in_sight(one.workload);
  }
  for (ScenarioStrategy& strategy : scenario.strategies) keep_data_in_sight(strategy.workload);
  ComparisonPlan plan = plan_comparison(scenario, rules);
  const ComparisonFolder folder(
      config.out.empty() ? std::filesystem::path("out/compare") / safe_name(scenario.name)
                         : std::filesystem::path(config.out),
      scenario, plan, program_identity(), config.replace ? Older::replace : Older::refuse);
  const Seconds begun = steady_seconds();
  // What follows depends on the rates, so that they are found before the rest is planned.
  const ComparisonPlan tuning_plan = plan;
  const Work tuning = carried_out(tunings_of(tuning_plan), folder, children, config);
  if (tuning.is_stopped) return interrupted();
  std::vector<RunOutcome> outcomes;
  for (const TuningRun& one : tuning_plan.tunings)
    outcomes.push_back(outcome_of(one.run, tuning, folder));
  const std::vector<Tuning> tunings = choose_rates(scenario, tuning_plan, outcomes);
  plan = plan_comparison(scenario, rules);
  const Work work = carried_out(runs_of(plan), folder, children, config);
  Comparison all = gather(scenario, plan, work, folder);
  all.tunings = tunings;
  if (!tunings.empty())
    all.note = concat(all.note, all.note.empty() ? "" : " ", tuning_note(tunings));
  WallClock wall{.machine = machine_description(), .seconds = steady_seconds() - begun};
  for (const PlannedRuns& runs : {runs_of(plan), tunings_of(tuning_plan)})
    for (const PlannedRun* run : runs) wall.by_run[run->id] = folder.seconds_of(*run);
  return conclude(all, wall, folder, config);
}

}  // namespace

void add_compare_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand(
      "compare", "Runs several strategies on the same workload and sets them side by side");
  command->footer(
      "Examples:\n"
      "  huddle compare demo\n"
      "  huddle compare mine.toml --out out/mine --seeds 1,2,3\n"
      "A comparison that was stopped goes on where it stopped. The format is in docs/compare.md.\n"
      "Exit status: 0 done, 1 a run failed or an expectation does not hold, 2 wrong usage (nothing "
      "was run), 130 interrupted.");
  const auto config = std::make_shared<CompareConfig>();
  command
      ->add_option("scenario", config->scenario,
                   "a scenario's file, or its name: `huddle list scenarios`")
      ->required();
  command->add_option("--out", config->out, "folder of the comparison; default: out/compare/NAME");
  command->add_option("--jobs", config->jobs, "runs at once; default: as many as there are cores");
  command->add_option("--seeds", config->seeds, "in place of the scenario's, as 1,2,3")
      ->delimiter(',');
  command->add_flag("--json", config->json, "print results.json instead of the tables");
  command->add_flag("--wide", config->wide, "tables with all columns, wider than 100 characters");
  command->add_flag("--quiet", config->quiet, "no progress, no tables");
  command->add_flag("--fresh", config->fresh, "run again what has been run before");
  command->add_flag("--replace", config->replace,
                    "give up the comparison of another scenario that --out holds");
  command->add_flag("--timeline", config->timeline,
                    "a trace of each run, runs/<run>/timeline.json in the folder "
                    "(docs/timeline.md)");
  add_ranges(*command, std::vector<NumberOption>{
                           {.name = "--jobs", .least = 1, .most = 10000, .example = "2"},
                           {.name = "--seeds", .most = 2147483647, .example = "1,2,3"}});
  command->callback([command, config, &status] { status = compare_command(*command, *config); });
}

}  // namespace huddle
