// What is written down about a run: where each worker's time went, step by step, and what the run
// came to.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/base/ids.h"
#include "huddle/record/meter.h"

namespace huddle {

// What one link of the network carried.
struct LinkUse {
  std::string name;
  double bytes = 0;
  Seconds busy = 0;  // At least one message was on it.
  Seconds full = 0;  // So long it takes to carry the bytes with what others leave of it.
  double bytes_per_second = 0;
};

// One line of steps.jsonl: one worker, one step.
struct StepRecord {
  WorkerId worker;
  Step step;
  double progress = 0;  // Steps of the run that were done then, as the strategy counts them.
  Time end = 0;         // When the step was over.
  double loss = 0;
  double learning_rate = 0;  // As it was used, scaled by what the strategy asked for.
  TimeSplit time;
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  Group group;                               // With whom the worker averaged.
  std::optional<std::int64_t> meeting = {};  // Outcome::meeting.
  Time began = 0;                            // By the engine's clock, for timelines.
  Time ended = 0;                            // Likewise.
  std::vector<Blocked> blocked;              // Where the meter keeps them.

  static auto fields(auto& self) {
    return std::tie(self.worker, self.step, self.progress, self.end, self.loss, self.learning_rate,
                    self.time, self.bytes_sent, self.messages_sent, self.group, self.meeting,
                    self.began, self.ended, self.blocked);
  }
};

// How good a model is on the test set.
struct Quality {
  double loss = 0;
  std::optional<double> accuracy;  // Absent where there are no classes.
  std::vector<double> by_class;    // The accuracy on the samples of each class.

  static auto fields(auto& self) { return std::tie(self.loss, self.accuracy, self.by_class); }
};

// Accuracy or loss of a run's models by name, "consensus"; nothing where it was not measured.
using ModelFigures = std::map<std::string, std::optional<double>>;

// How good the mean of the workers' models was at one moment of the run.
struct CurvePoint {
  double progress = 0;  // Steps of the run that were done.
  Time time = 0;        // When the last worker's model was taken.
  Quality consensus;
  double drift = 0;

  static auto fields(auto& self) {
    return std::tie(self.progress, self.time, self.consensus, self.drift);
  }
};

// The closing loss is the mean of so many last steps: single batches are too noisy to compare.
constexpr std::int64_t kStepsOfLoss = 50;

// The closing figures of a run, all that summary.json and the closing table need.
struct Summary {
  std::string strategy;
  std::string settled;  // The same with what it left open filled in; empty: not known.
  std::string engine;
  std::string model;
  std::string data;
  std::string split;
  std::string optimizer;
  std::string status = "complete";  // Or "diverged", "interrupted", or "failed: …".
  int workers = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 0;        // Asked for.
  std::int64_t steps_done = 0;   // By the slowest worker; where each has its own pace, by the mean.
  std::int64_t steps_taken = 0;  // By all workers together, in this run.
  std::uint64_t seed = 0;
  std::int64_t parameters = 0;
  Seconds seconds = 0;  // Of the step loop, evaluation not counted.
  double samples_per_second = 0;
  double loss = 0;  // Training loss: mean of the last kStepsOfLoss steps of all workers.
  std::optional<Quality> consensus;
  std::optional<Quality> swa;  // The mean of all workers' running means, where they are kept.
  std::map<std::string, Quality> others;  // Further models of the strategy (an anchor), by name.
  std::vector<Quality> by_worker;
  std::vector<CurvePoint> curve;  // In the order of time; empty where nobody asked for it.
  std::optional<double> drift;
  std::map<std::string, double> figures;      // What the strategy counted, by name.
  std::vector<TimeSplit> time;                // By worker.
  std::vector<std::int64_t> steps_by_worker;  // Taken by each, in this run.
  std::vector<double> rate_factor_by_worker;  // What the strategy scaled its rate by, on the mean.
  double bytes_sent_per_worker = 0;
  std::vector<std::string> lost;  // One line per worker that was lost.
  std::vector<std::string> warnings;
  std::string cluster;         // Its name, where it has one.
  std::string network;         // The network model of a simulation; empty: time was real.
  std::vector<LinkUse> links;  // Where the engine knows them.
};

}  // namespace huddle
