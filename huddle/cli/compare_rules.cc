#include "huddle/cli/compare_rules.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"
#include "huddle/cli/parse_errors.h"
#include "huddle/cli/train/train_check.h"
#include "huddle/cli/train/train_config.h"
#include "huddle/cli/train/train_options.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/data/dataset.h"
#include "huddle/train/data/split.h"
#include "huddle/train/models/models.h"

namespace huddle {
namespace {

// As long as no run is.
constexpr std::int64_t kManySteps = 1'000'000'000;

using Mark = TrainOption::Mark;

// The keys of a workload of which this holds.
std::vector<std::string> workload_keys(bool (*holds)(const TrainOption&)) {
  std::vector<std::string> keys;
  for (const TrainOption& option : all_train_options())
    if (!option.is(Mark::not_compared) && holds(option)) keys.push_back(option.key());
  return keys;
}

// Reads it as `huddle train` would.
void parse(const WorkloadOptions& workload, CLI::App& command, TrainConfig& config) {
  declare_options(command, config);
  std::vector<std::string> words = train_options(workload);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back.
  try {
    command.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(explained(command, error));
  }
}

void check_spec(const char* what, const std::vector<SpecInfo>& known, const std::string& text) {
  const Spec spec = parse_spec(text);
  Options(what, find_info(what, known, spec.name), spec);
}

void check_workload(const WorkloadOptions& workload) {
  CLI::App command;
  TrainConfig config;
  parse(workload, command, config);
  check_options(command, config);
  parse_split(config.split);
  if (config.timing_only && workload.contains("epochs"))
    throw UsageError("--timing-only has no data to count --epochs of; give steps.");
  check_spec("data", known_data(), config.data);
  if (parse_spec(config.data).name != "quadratic")
    check_spec("model", known_models(), config.model);
  update_of(config);
  if (workload.contains("epochs")) config.steps = kManySteps;  // How many, only the data tells.
  check_length(config);
  if (!config.wire.empty()) parse_wire("--wire", config.wire);
}

// How many classes data has, by name and folder: looked at once, however many runs use it.
using KnownClasses = std::map<std::pair<std::string, std::filesystem::path>, int>;

// Throws UsageError where the data is not there, or not what the split wants.
void check_data(const TrainConfig& config, KnownClasses& known) {
  if (parse_spec(config.data).name == "quadratic") return;
  const ProblemOptions problem = problem_of(config);
  const auto [place, is_new] = known.try_emplace({problem.data, problem.data_directory}, 0);
  if (is_new) place->second = load_data(problem.data, problem.data_directory).classes;
  const int classes = place->second;
  const SplitSpec split = parse_split(config.split);
  require(split.kind != SplitSpec::Kind::rare || split.value < classes,
          concat("--split is ", config.split, ", but ", config.data, " has the classes 0 to ",
                 classes - 1, "."));
}

void check_run(KnownClasses& known, const ScenarioCase& one, const WorkloadOptions& workload,
               const std::string& strategy) {
  CLI::App command;
  TrainConfig config;
  parse(workload, command, config);
  const std::int64_t steps = workload.contains("epochs") ? 0 : config.steps;
  prepare_strategy(strategy, {one.cluster, update_of(config), config.clip_norm, steps});
  if (!config.timing_only) check_data(config, known);
  const double wire =
      config.wire.empty() ? one.cluster.wire_bytes : parse_wire("--wire", config.wire);
  require(!config.timing_only || wire > 0,
          concat("case '", one.name,
                 "' is timed only and needs the size of the model: wire = \"102.4MB\" in "
                 "[workload], or in [cluster.model]."));
  Cluster cluster = one.cluster;
  cluster.wire_bytes = wire;
  cluster.validate();
}

// `huddle launch` starts processes of ucx; those of mpi only its own launcher can start.
PlanRules::Start start_of(const std::string& engine, int workers) {
  if (!is_of_processes(engine)) return {};
  const std::string processes = std::to_string(workers);
  if (parse_spec(engine).name == "mpi")
    return {.launcher = {"mpirun", "-n", processes}, .command = {}};
  return {.launcher = {}, .command = {"launch", "-n", processes, "--"}};
}

// Sums in another order round otherwise, which is no difference between strategies. Which groups
// form may depend on the network.
std::string values_of(const std::string& strategy, const Cluster& cluster) {
  Spec spec = parse_spec(strategy);
  for (const char* key : {"algorithm", "buckets", "lanes"}) spec.values.erase(key);
  const auto overlap = spec.values.find("overlap");
  if (overlap != spec.values.end() && overlap->second != "round") spec.values.erase(overlap);
  if (!is_among(strategies_with_schedule(), spec.name)) return to_string(spec);
  return concat(to_string(spec), " by schedule ", schedule_of(strategy, cluster).pattern().index());
}

}  // namespace

ScenarioRules scenario_rules() {
  return {.workload_keys = workload_keys([](const TrainOption&) { return true; }),
          .check_engine = check_engine,
          .check_workload = check_workload,
          .check_spelling = [](const std::string& strategy) { traits_of(strategy); },
          .check_run =
              [known = std::make_shared<KnownClasses>()](
                  const ScenarioCase& one, const WorkloadOptions& workload,
                  const std::string& strategy) { check_run(*known, one, workload, strategy); }};
}

PlanRules plan_rules(const std::string& given) {
  const std::string engine = !given.empty() ? given : has_simulation() ? "sim" : "threads";
  return {.engine = engine,
          .has_timing = is_simulated(engine),
          .usual_steps = TrainConfig().steps,
          .keys_of_values =
              workload_keys([](const TrainOption& option) { return option.is(Mark::of_values); }),
          .keys_of_length =
              workload_keys([](const TrainOption& option) { return option.is(Mark::of_length); }),
          .has_own_pace =
              [](const std::string& strategy) { return traits_of(strategy).pace == Pace::own; },
          .start = [engine](int workers) { return start_of(engine, workers); },
          .values_of = values_of};
}

}  // namespace huddle
