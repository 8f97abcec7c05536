// Models that a worker keeps during a run, to be judged when it is over: how good the mean model
// was along the way, at the price of a copy now and then. Nobody waits for anybody, so that
// measuring changes neither the values nor the times of a run, whatever the strategy.
//
// Workers of different paces keep a model when the run, not they themselves, has come so far.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>

#include "huddle/base/ids.h"
#include "huddle/replica/replica.h"

namespace huddle {

struct Snapshot {
  double progress = 0;  // A multiple of `every`, or the end of the run.
  Time time = 0;
  at::Tensor parameters;
  at::Tensor statistics;
};

// One worker's. Costs one model of memory each.
class Snapshots {
 public:
  // One for each `every` steps of a run of `steps`, and one at its end; none for `every` = 0.
  // `done`: the steps that a resumed run had done before.
  Snapshots(std::int64_t every, std::int64_t steps, double done);

  // After each step: `progress` steps of the run are done.
  void offer(double progress, Time now, const Replica& replica);

  // The run is over. A worker whose last steps were slow keeps what it has for all that remain.
  void complete(Time now, const Replica& replica) {
    offer(static_cast<double>(steps_), now, replica);
  }

  // Those kept, oldest first.
  std::deque<Snapshot>& kept() { return kept_; }

 private:
  const std::int64_t every_;
  const std::int64_t steps_;
  std::int64_t reached_ = 0;  // The progress of the last one.
  std::deque<Snapshot> kept_;
};

}  // namespace huddle
