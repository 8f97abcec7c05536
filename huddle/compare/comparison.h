// What a comparison comes to: the runs of several strategies, in one or several cases and with
// several seeds, as rows that can be set side by side. Values only; how runs are made and where
// they are kept is not known here.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/compare/interval.h"
#include "huddle/compare/target.h"
#include "huddle/record/record.h"
#include "huddle/report/format.h"

namespace huddle {

// Nothing also where there is no such model.
std::optional<double> figure_of(const ModelFigures& figures, const std::string& model);

// What one run came to. A run that has not ended well has whatever is known.
struct RunOutcome {
  std::string status = "interrupted";  // Or "complete", "diverged", or "failed: ...".
  std::optional<Seconds> seconds;
  std::optional<Seconds> step_seconds;  // Of one step of every worker, on the average.
  std::optional<double> loss;
  ModelFigures accuracy;
  ModelFigures test_loss;
  std::optional<double> drift;
  std::optional<double> bytes_sent_per_worker;
  std::vector<TimeSplit> time;  // By worker.
  std::vector<double> steps_by_worker;
  std::vector<double> share_by_worker;        // Of all steps,
  std::vector<double> rate_factor_by_worker;  // and what rates were scaled by.
  std::vector<LinkUse> links;
  std::vector<CurvePoint> curve;
  std::map<std::string, double> figures;
  std::vector<std::string> warnings;
  std::vector<std::string> lost;

  bool is_complete() const { return status == "complete"; }
};

// One run in its place.
struct ComparedRun {
  std::string id;
  std::string case_name;
  std::string label;
  std::string strategy;
  int seed = 0;
  std::string trained_in;  // The training that the values are from; empty: this run itself.
  std::string timed_in;    // The run that the times are from; likewise.
  std::string command;
  RunOutcome outcome;
  std::optional<Target> target;    // With its value worked out.
  std::optional<Reached> reached;  // When, if it was.
};

// A strategy as the rows name it.
struct ComparedStrategy {
  std::string label;
  std::vector<std::string> baselines;           // Under which names it is a yardstick.
  std::map<std::string, std::string> workload;  // What it was given in place of the common one.
  std::map<std::string, std::string> tuned;     // The learning rate chosen for it, by case.
};

// How a strategy differs from a yardstick, each seed compared with the same seed. A name that
// several strategies carry means the fastest of them in the case: by the time of a step, and for
// the time to the target by that.
struct Speedup {
  std::string name;
  std::string label;  // Of the strategy that was fastest; empty where none ended well.
  Measured of_step;
  std::string target_label;
  Measured to_target;
  Measured points;  // Consensus accuracy less that of `label`, in points.
};

// One strategy in one case, over all seeds that ended well.
struct ComparedRow {
  std::string case_name;
  std::string label;
  std::string strategy;
  std::string status = "complete";  // Or that of the first run that did not end well.
  int seeds = 0;                    // That ended well.
  std::map<std::string, std::string> workload;
  bool tuned = false;                // Whether the workload's learning rate was chosen for it.
  std::vector<std::string> carries;  // The names under which it is a yardstick itself.
  std::vector<Speedup> speedups;     // One for each yardstick, in the order of first mention.
  std::optional<Spread> step_seconds;
  std::optional<Spread> time_to_target;   // Nothing unless all of these runs reached it.
  int reached = 0;                        // How many did.
  std::optional<double> bytes_to_target;  // By a worker, on the mean; likewise.
  bool forms_at_target = false;           // Whether an average of everybody is part of that.
  std::optional<Spread> accuracy_consensus;
  std::optional<Spread> accuracy_worker_mean;
  std::optional<Spread> accuracy_swa;
  std::optional<Spread> loss_consensus;  // On the test set.
  std::optional<Spread> drift;
  std::optional<double> bytes_sent_per_worker;
  std::optional<double> wait;  // Shares of the time; hidden runs beside compute.
  std::optional<double> exchange;
  std::optional<double> hidden;
  std::optional<double> least_heard;  // Nothing where all workers take as many steps.
  std::string bottleneck;             // The name of a link; empty where none is known.

  // Who fails with some seeds is not judged by the others: they may be the lucky ones.
  bool is_whole() const { return status == "complete"; }
};

// The curve with other times: a point after p steps is at the end of step p, ends[p - 1], of
// another run. Points past its end are left out.
std::vector<CurvePoint> retimed(std::span<const CurvePoint> curve, std::span<const Time> ends);

// The values of `trained` with the times, links and bytes of `timed`, a run of the same strategy
// without values; `ends`: of its steps, by the slowest worker.
RunOutcome joined_outcome(const RunOutcome& trained, const RunOutcome& timed,
                          std::span<const Time> ends);

std::optional<Bottleneck> bottleneck_of(const RunOutcome& outcome);

// What one average of all models takes: the step that makes it, without its computation. Nothing
// where that run did not end well.
std::optional<ConsensusCost> consensus_cost(const RunOutcome& average);

// The target of runs with this seed in one case, its value worked out where it is over a baseline:
// with the same seed, so that one seed's luck is the same for all. Of several strategies of this
// name the most accurate counts. Nothing where none has an accuracy, or runs of them failed.
std::optional<Target> target_for(const Target& target, const std::string& case_name, int seed,
                                 std::span<const ComparedRun> runs,
                                 std::span<const ComparedStrategy> strategies);

// What the runs of a case had to reach, on the mean of the seeds. Nothing where they had no target.
std::optional<Target> mean_target(const std::string& case_name, std::span<const ComparedRun> runs);

// A row for each case and strategy that has runs, in the order of the runs.
std::vector<ComparedRow> compare_runs(std::span<const ComparedRun> runs,
                                      std::span<const ComparedStrategy> strategies);

}  // namespace huddle
