// The step loop: trains a problem under a strategy on whatever engine the launcher stands for, and
// says what came of it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/record/record.h"
#include "huddle/replica/update_rule.h"
#include "huddle/train/checkpoint/checkpoint.h"
#include "huddle/train/models/problem.h"
#include "huddle/train/step_gate.h"
#include "huddle/train/sync.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// A run has diverged when the loss of one worker is not finite in so many steps in a row.
inline constexpr int kDivergedAfter = 20;

struct TrainOptions {
  std::string strategy = "bsp";
  int workers = 1;
  std::int64_t steps = 100;
  std::int64_t batch =
      32;  // Samples per worker and backward pass; for the figures only, the problem has its own.
  int accumulate = 1;  // Backward passes per step.
  UpdateOptions update;
  double clip_norm = 0;               // 0: gradients are not clipped.
  std::string schedule = "constant";  // Of the learning rate; see learning_rate.h.
  SharedTopology topology = std::make_shared<const Topology>();
  Compute compute;           // Simulated or injected.
  double payload_scale = 1;  // Bytes on the wire for each byte of the model, in simulation.
  Deadline deadline;
  std::int64_t evaluate_every =
      0;  // Steps of the run between two models that are judged after it; 0: only the last is.
  std::int64_t swa_start =
      0;  // First step after which models enter the running mean; 0: none is kept.
  std::int64_t swa_every = 1;  // Steps between two of them.
  // Called by worker 0 whenever it has judged one of so many models of the run.
  std::function<void(std::int64_t models, std::int64_t of)> evaluated = [](auto...) {};
  bool keep_going = false;     // Also when the run has diverged.
  bool keeps_blocked = false;  // Records tell every stretch of waiting, for a timeline.
  // Then also called by each worker that waited after its last step.
  std::function<void(WorkerId, const std::vector<Blocked>&)> finished = [](auto...) {};
  // Closed by somebody who wants the run to end early: at one step, with a checkpoint if there is
  // to be one. Has no effect where each worker has its pace. Outlives the run; absent: nobody will.
  StepGate* gate = nullptr;
  std::optional<CheckpointFolder> save;
  std::int64_t save_every = 0;                        // 0: only at the end.
  std::map<std::string, std::string> saved_settings;  // For checkpoint.json.
  // Gives a worker the state that it goes on from; empty: everybody starts afresh. Called once by
  // each worker's thread, so that no state stays in memory beside the model that it has become.
  std::function<NamedTensors(WorkerId)> resume;
};

// Called by the workers' threads, each for its own records.
using StepObserver = std::function<void(const StepRecord&)>;

// What a run came to. When it failed, diverged or was interrupted, `error` says how, and the
// summary tells of what was done until then.
struct TrainResult {
  Summary summary;  // The fields that the trainer knows, with what the user should be warned of.
  std::exception_ptr error;
  bool tells_loss = false;  // Whether anybody told a loss.
};

TrainResult train(Launcher& launcher, const Problem& problem, const TrainOptions& options,
                  const StepObserver& observer);

}  // namespace huddle
