// How far a run goes, for somebody outside it who wants it to end in good order.
//
// Once the gate is closed every worker still takes the steps that any worker had begun by then, and
// no further one. So all of them end at one step, whoever was ahead, and nobody waits in an
// exchange for a worker that has left.

#pragma once

#include <atomic>
#include <cstdint>

#include "huddle/base/ids.h"

namespace huddle {

class StepGate {
 public:
  // A worker is about to begin this step. False: the run ends before it, for all workers alike.
  bool admits(Step step) {
    std::int64_t seen = state_.load();
    while (step.value >= seen / 2) {
      if (seen % 2 != 0) return false;
      if (state_.compare_exchange_weak(seen, 2 * (step.value + 1))) break;
    }
    return true;
  }

  // Any thread may call it.
  void close() { state_.fetch_or(1); }
  bool is_closed() const { return state_.load() % 2 != 0; }

 private:
  // Twice the number of steps that somebody has begun, and 1 more once the gate is closed: one
  // number, so that nobody begins a step between a look at the one and at the other.
  std::atomic<std::int64_t> state_{0};
};

}  // namespace huddle
