// A scenario: one workload in one or several clusters under several strategies, as `huddle compare`
// runs it. The format, key by key, is in docs/compare.md; examples are in scenarios/.

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/compare/comparison.h"
#include "huddle/compare/expectation.h"
#include "huddle/config/config_table.h"

namespace huddle {

// Options of `huddle train` by name, as a scenario spells them: weight_decay, not --weight-decay.
using WorkloadOptions = std::map<std::string, std::string>;

// One variant of the cluster or the workload.
struct ScenarioCase {
  std::string name;
  std::string text;
  WorkloadOptions workload;
  std::vector<int> seeds;
  ConfigTable description;  // Of the cluster, whole: a cluster file's content.
  Cluster cluster;
};

struct ScenarioStrategy {
  std::string label;
  std::string run;                           // "bsp:algorithm=ring,buckets=4".
  std::vector<std::string> baselines;        // Under which names others are compared with it.
  WorkloadOptions workload;                  // What it is given in place of the scenario's.
  std::vector<std::string> cases;            // Names of those in which it takes part.
  std::vector<std::string> rates;            // Learning rates of which its best is to be found.
  std::map<std::string, std::string> tuned;  // The best, by case, once it is known.
};

struct Scenario {
  std::string name;  // Of the file.
  std::string title;
  std::string text;
  std::string claim;
  std::vector<std::string> assumptions;
  std::string engine;  // Of all runs; empty: the usual one of this build.
  std::optional<Target> target;
  std::vector<ScenarioCase> cases;  // At least one.
  std::vector<ScenarioStrategy> strategies;
  std::vector<Expectation> expectations;
  std::string source;  // The file's text.
};

// What the reader has to be told about `huddle train`.
struct ScenarioRules {
  std::vector<std::string> workload_keys;

  // Throws UsageError unless this build has the engine.
  std::function<void(const std::string& engine)> check_engine;

  // Throws UsageError unless these options make sense by themselves.
  std::function<void(const WorkloadOptions&)> check_workload;

  // Throws UsageError unless there is such a strategy with such keys.
  std::function<void(const std::string& strategy)> check_spelling;

  // Throws UsageError unless a run of this strategy in this case can begin. `workload` is what the
  // two give together.
  std::function<void(const ScenarioCase&, const WorkloadOptions& workload,
                     const std::string& strategy)>
      check_run;
};

// Throws UsageError that lists all problems of the file, "FILE:LINE: message" each, in the order of
// lines.
Scenario read_scenario(const std::filesystem::path& path, const ScenarioRules& rules);

// What a run of a strategy in a case is given.
WorkloadOptions workload_of(const ScenarioCase& one, const ScenarioStrategy& strategy);

}  // namespace huddle
