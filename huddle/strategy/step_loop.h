// One worker's steps under a strategy, the same for every trainer: the command line's, timing
// alone, a user's own loop.
//
//   while (...) {
//     loop.begin();              // the strategy is ready for the forward pass
//     ...                        // gradients are computed into the replica, and
//     loop.ready(bucket);        // of each bucket the loop is told, in order; or all of backward
//     loop.replay_backward();    //   is lived through once they are there
//     loop.end();                // clip, update, exchange
//   }
//   loop.finish();

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "huddle/strategy/entry.h"

namespace huddle {

// The time that one step's computation passes beside the real one. It is spent in the forward pass
// and then, bucket by bucket, in the backward pass.
struct Compute {
  Seconds per_step = 0;
  double backward_share = 2. / 3;
};

struct LoopOptions {
  Averaging averaging = {};
  double clip_norm = 0;    // Gradients are scaled down to this norm before the update; 0: never.
  std::int64_t steps = 0;  // That each worker is to take, for strategies that must know the end.
  Compute compute = {};    // Simulated or injected.
  WorkerId home = {};      // Beside whom services run.
  bool keeps_blocked = false;  // Every stretch of waiting is told, for a timeline.
};

// One step as it went.
struct StepTaken {
  Step step;
  Time begin = 0;
  Time end = 0;
  double learning_rate = 0;  // As it was used: scaled by
  double rate_factor = 1;    // what the strategy asked for (replica.h).
  Meter::Total traffic;
  Outcome outcome;
};

// Used by the worker's own thread.
class StepLoop {
 public:
  // Both outlive this. Throws UsageError like prepare_strategy.
  StepLoop(Endpoint& endpoint, Replica& replica, std::string_view strategy,
           const LoopOptions& options);

  // Under a strategy that no string names.
  StepLoop(Endpoint& endpoint, Replica& replica, const MakeStrategy& strategy,
           const LoopOptions& options, const Traits& traits = {});

  // Begins the next step, of so many forward and backward passes. Waits for whatever the forward
  // pass needs.
  void begin(int passes = 1);

  // The bucket's gradients are complete.
  void ready(const Bucket& bucket) { strategy_->gradients_ready(step_, bucket); }

  // Spends this step's backward time, telling of each bucket at its moment: for gradients that are
  // there already, or need not be.
  void replay_backward();

  // Updates and exchanges. REQUIRES: the loop was told of every bucket.
  const Outcome& end();

  // Instead of it: the step is offered but not taken (no data left, infinite gradients). REQUIRES:
  // a strategy that meets nobody in it or lets a worker skip alone (local steps, p_reduce,
  // ad_psgd).
  const Outcome& skip();

  // Completes whatever is in flight. No step follows.
  void finish();

  // The last step, and what was exchanged since this was last asked for.
  StepTaken take();
  Meter::Total take_traffic() { return meter_.take(); }

  // Whether all steps are done: as many as were asked for, or as the strategy says.
  bool is_over() const;

  Step next_step() const { return step_; }
  std::int64_t steps_taken() const { return steps_taken_; }  // Of those offered.

  // Steps of the run that are done, as the strategy counts them.
  double progress() const { return progress_; }

  // The strategy with what was left open filled in (registry.h); empty where no string names it.
  const std::string& settled() const { return settled_; }

  Strategy& strategy() { return *strategy_; }
  const Strategy& strategy() const { return *strategy_; }
  const Traits& traits() const { return traits_; }
  const Replica& replica() const { return replica_; }
  const LoopOptions& options() const { return options_; }

  // With the counts of steps and updates.
  void save(Archive& archive) const;
  void load(const Archive& archive);

 private:
  void start();
  const Outcome& count(Outcome outcome);

  Endpoint& endpoint_;
  Replica& replica_;
  const LoopOptions options_;
  const Traits traits_;
  std::string settled_;
  Meter meter_;
  bool has_started_ = false;
  Step first_;  // Of this run; a resumed one's is not 0.
  Step step_;   // The next one.
  std::int64_t steps_taken_ = 0;
  double progress_ = 0;
  int passes_ = 1;                      // Of this step.
  Time ready_at_ = 0;                   // When it could begin.
  StepTaken last_;                      // The step before, or this one.
  std::unique_ptr<Strategy> strategy_;  // Last: what is under way ends before what it uses.
};

}  // namespace huddle
