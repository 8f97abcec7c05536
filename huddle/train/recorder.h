// Writes down what one worker's run came to, whoever takes its steps: the trainer, timing alone, or
// a user's own loop, of which Sync tells.

#pragma once

#include <functional>
#include <optional>

#include "huddle/train/evaluation/snapshots.h"
#include "huddle/train/sync.h"
#include "huddle/train/trainer.h"
#include "huddle/train/worker_log.h"

namespace huddle {

// How good the model is as it stands.
using Judge = std::function<Quality()>;

// One worker's, used by its thread alone.
class Recorder {
 public:
  // Of the options, `evaluate_every`, `evaluated` and `finished` are used. All must outlive it.
  Recorder(WorkerId worker, const TrainOptions& options, const StepObserver& observer,
           WorkerLog& log)
      : worker_(worker), options_(options), observer_(observer), log_(log) {}

  WorkerLog& log() { return log_; }

  // Before the first step, and again where a saved state has been loaded since.
  void begin(const StepLoop& loop);
  bool has_begun() const { return snapshots_.has_value(); }
  bool is_of(const Replica& replica) const { return replica_ == &replica; }

  // After each step, and after the end of them all. `loss`: absent where nobody says what it was.
  void taken(StepLoop& loop, const std::optional<double>& loss = {});
  void finished(StepLoop& loop);

  // Has the mean of each of the models judged that were kept on the way; leaves the model as it
  // was. A collective. REQUIRES: finished.
  void evaluate_kept(Sync& sync, const Judge& judge);

 private:
  const WorkerId worker_;
  const TrainOptions& options_;
  const StepObserver& observer_;
  WorkerLog& log_;
  const Replica* replica_ = nullptr;    // Whose run it is, and
  std::optional<Snapshots> snapshots_;  // these: there once it has begun.
};

}  // namespace huddle
