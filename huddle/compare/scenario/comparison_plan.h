// Which runs a scenario needs, as command lines of `huddle train`.
//
// Where the model stands for a larger one (`wire`) and what a strategy computes does not depend on
// time, it is trained once for each seed, and timed in every case by a run without values on a
// model of that size. All such times then come from the same model, cut into the same small
// parameters: those of a small stand-in would let buckets be cut in few places only. All other runs
// are trained and timed in one.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "huddle/compare/scenario/scenario_file.h"

namespace huddle {

struct PlannedRun {
  std::string id;  // Unique and a safe path; the run's folder is runs/<id>.
  std::size_t case_index = 0;
  std::size_t strategy_index = 0;
  std::string strategy;
  int seed = 0;
  std::vector<std::string>
      launcher;  // The program that starts `huddle`, and its arguments; or none.
  std::vector<std::string> arguments;  // Of `huddle`; paths as seen from the comparison's folder.
  std::optional<std::size_t> trained_in;  // Which of the trainings has the values.
  std::optional<std::size_t> timed_in;    // Which of the runs has the times, if not this one.
  double work = 0;                        // How much there is to do, in any unit.
};

// A training at one of the learning rates from which the best is chosen.
struct TuningRun {
  PlannedRun run;
  std::string rate;
  std::vector<std::pair<std::size_t, std::size_t>> serves;  // Cases and strategies it speaks for.
};

struct ComparisonPlan {
  std::vector<std::string> case_files;  // Where the cluster of each case is to be written.
  std::vector<TuningRun> tunings;       // To be made first, for what follows depends on them.
  std::vector<PlannedRun> averages;   // By case: one step that averages all models; or none at all.
  std::vector<PlannedRun> trainings;  // For values alone.
  std::vector<PlannedRun> runs;       // In the order of cases, strategies, seeds.

  // The one that is made for the times of `run`.
  const PlannedRun& timed(const PlannedRun& run) const {
    return run.timed_in ? runs[*run.timed_in] : run;
  }
};

// What the planner has to be told.
struct PlanRules {
  std::string engine = "sim";
  bool has_timing = true;  // Whether runs without training have the times of runs with it.
  std::int64_t usual_steps = 300;
  std::vector<std::string> keys_of_values;  // Options that a run without values does without ...
  std::vector<std::string> keys_of_length;  // ... and with which a run is not timed apart: epochs,
                                            // whose number of steps depends on the data.
  std::function<bool(const std::string& strategy)> has_own_pace;
  // How a run with so many workers is started on this engine: what stands before `huddle`, and
  // before `train`.
  struct Start {
    std::vector<std::string> launcher;
    std::vector<std::string> command;
  };
  std::function<Start(int workers)> start = [](int) { return Start(); };
  // The strategy without the keys that only say how and when its messages travel, and with what the
  // cluster chooses for it: strategies that are equal then are trained once.
  std::function<std::string(const std::string& strategy, const Cluster& cluster)> values_of;
};

// What is tuned of a scenario, judged by held-out samples: the rates of a strategy that has several
// in [tune], once for all cases in which it computes the same or, where time has a say in what it
// computes, would with equal workers and data.

ComparisonPlan plan_comparison(const Scenario& scenario, const PlanRules& rules);

// The options of `huddle train` that a workload means: "--weight-decay", "0.001".
std::vector<std::string> train_options(const WorkloadOptions& workload);

// `text` as the name of a file: what is no letter, digit, dot, - or _ becomes -, and neither "",
// "." nor a hidden file comes of it.
std::string safe_name(const std::string& text);

// The command of a run as one would type it in the comparison's folder.
std::string command_text(const PlannedRun& run);

// A command line that a shell reads as these arguments.
std::string shell_text(const std::vector<std::string>& arguments);

}  // namespace huddle
