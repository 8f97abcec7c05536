#include "huddle/cli/compare_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "huddle/cli/engines.h"
#include "huddle/cli/train_check.h"
#include "huddle/cli/train_config.h"
#include "huddle/core/error.h"
#include "huddle/core/text.h"
#include "huddle/core/units.h"
#include "huddle/strategy/registry.h"
#include "huddle/train/dataset.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/models.h"
#include "huddle/train/split.h"

namespace huddle {
namespace {

// Options that a comparison sets itself, or that its cluster takes the place of.
constexpr std::array<std::string_view, 22> kNotOfAWorkload{
    "help",  "strategy", "engine", "workers", "seed",    "cluster",   "out",  "save",
    "racks", "compute",  "jitter", "slow",    "latency", "bandwidth", "kill", "save_every",
    "quiet", "json",     "resume", "plan",    "version", "timeline"};

std::vector<std::string> workload_keys() {
  CLI::App command;
  TrainConfig config;
  declare_options(command, config);
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    std::string key = option->get_single_name();
    std::replace(key.begin(), key.end(), '-', '_');
    if (std::find(kNotOfAWorkload.begin(), kNotOfAWorkload.end(), key) == kNotOfAWorkload.end())
      keys.push_back(key);
  }
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
    throw UsageError(concat(error.what(), "."));
  }
}

void check_workload(const WorkloadOptions& workload) {
  CLI::App command;
  TrainConfig config;
  parse(workload, command, config);
  check_counts(command, config);
  parse_split(config.split);
  if (config.timing_only && workload.contains("epochs"))
    throw UsageError("--timing-only has no data to count --epochs of; give steps.");
  find_info("data", known_data(), parse_spec(config.data).name);
  if (parse_spec(config.data).name != "quadratic")
    find_info("model", known_models(), parse_spec(config.model).name);
  update_of(config);
  LearningRate(config.schedule, config.learning_rate, config.steps);
  if (!config.wire.empty()) parse_bytes("--wire", config.wire);
}

void check_run(const ScenarioCase& one, const WorkloadOptions& workload,
               const std::string& strategy) {
  CLI::App command;
  TrainConfig config;
  parse(workload, command, config);
  check_strategy(strategy, {one.cluster, update_of(config), config.clip_norm});
  if (config.timing_only && one.cluster.wire_bytes == 0 && config.wire.empty())
    throw UsageError(
        concat("case '", one.name,
               "' is timed only and needs the size of the model: wire = \"102.4MB\" in "
               "[workload], or in [cluster.model]."));
}

}  // namespace

ScenarioRules scenario_rules() {
  return {.workload_keys = workload_keys(),
          .check_workload = check_workload,
          .check_spelling = [](const std::string& strategy) { follows_time(strategy); },
          .check_run = check_run};
}

PlanRules plan_rules() {
  return {.engine = has_simulation() ? "sim" : "threads",
          .has_timing = has_simulation(),
          .usual_steps = TrainConfig().steps,
          .follows_time = [](const std::string& strategy) { return follows_time(strategy); }};
}

}  // namespace huddle
