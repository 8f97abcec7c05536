// Who takes which share of all steps, and by how much its learning rate must change for all workers
// to be heard alike.
//
// Without barriers a worker with the share p_i of all steps has the weight p_i in what is learnt:
// who is slow is heard less. With c_i = 1 / (n p_i), n the number of workers, the expected update
// is that of equal shares. A rate has its limits, so c_i is at most kLargestFactor; then all
// are scaled alike until sum_i p_i c_i = 1, which keeps the run's mean rate. Ours; no paper has it.
//
// Shares are those of the last 50 steps of each worker on the average, and of 400 at least: a
// worker whose pace changes is followed within as many. Who asks has just taken a step, so one that
// took k of them counts for up to 1/k too many; with fewer steps that would matter. A run begins as
// if all had taken turns before, so nobody is judged by its first steps. Those who have left count
// for nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

class Shares {
 public:
  static constexpr double kLargestFactor = 4;  // Before all are scaled alike.

  // REQUIRES: workers >= 1.
  explicit Shares(int workers);

  // In constant time. REQUIRES: the worker has not left.
  void stepped(WorkerId worker);

  // The worker takes no further step.
  void left(WorkerId worker);

  // p_i; 0 of one that has left, or has not been seen for a whole window.
  double share(WorkerId worker) const;

  // c_i, in time that grows with the number of workers. REQUIRES: the worker has not left.
  double factor(WorkerId worker) const;

  // How many steps count.
  std::size_t window() const { return last_.size(); }

 private:
  struct Known {
    std::int64_t steps = 0;  // Of the window.
    bool has_left = false;
  };

  Known& known(WorkerId worker) { return known_[static_cast<std::size_t>(worker.value)]; }
  const Known& known(WorkerId worker) const {
    return known_[static_cast<std::size_t>(worker.value)];
  }
  double bounded_factor(const Known& worker) const;

  std::vector<Known> known_;    // By worker.
  std::vector<WorkerId> last_;  // Whose the steps of the window were, in a ring.
  std::size_t oldest_ = 0;      // In the ring.
  std::int64_t present_;        // Workers that have not left,
  std::int64_t steps_;          // and their steps of the window.
};

}  // namespace huddle
