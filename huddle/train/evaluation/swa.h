// Extended SWA (stochastic weight averaging, as DS-Sync v2 uses it): from some step on each worker
// keeps a running mean of its own models, without traffic; at the end the workers' means are
// averaged once.
//
//   w = 1/(K N) * sum over snapshots k and workers i of x_i(t_k)
//
// Workers of different paces add a model when the run, not they themselves, has come so far. So all
// of them end with the same number of models, which every worker knows without asking.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "huddle/train/checkpoint/checkpoint.h"

namespace huddle {

// One worker's running mean. Costs one model of memory.
class RunningMean {
 public:
  // Which models enter: that of step number `start` and of each `every` further ones.
  struct When {
    std::int64_t start = 0;  // 0: none does.
    std::int64_t every = 1;
    std::int64_t steps = 0;  // Of the whole run.
  };
  explicit RunningMean(const When& when) : when_(when) {}

  // After each step: `progress` steps of the run are done.
  void offer(double progress, const at::Tensor& model);

  // The run is over. A worker whose last steps were slow gives what it has for all that remain.
  void complete(const at::Tensor& model) { offer(static_cast<double>(when_.steps), model); }

  // After `complete`, equal on all workers.
  bool empty() const { return count_ == 0; }
  const at::Tensor& mean() const { return mean_; }  // REQUIRES: not empty.

  // For checkpoints, under names that begin with "swa/".
  void save(NamedTensors& state) const;
  void load(const NamedTensors& state);

 private:
  void add(const at::Tensor& model);

  const When when_;
  at::Tensor mean_;
  std::int64_t count_ = 0;
};

}  // namespace huddle
