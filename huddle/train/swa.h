// Extended SWA (stochastic weight averaging, as DS-Sync v2 uses it): from some step on each worker
// keeps a running mean of its own models, without traffic; at the end the workers' means are
// averaged once.
//
//   w = 1/(K N) * sum over snapshots k and workers i of x_i(t_k)

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "huddle/train/checkpoint.h"

namespace huddle {

// One worker's running mean. Costs one model of memory.
class RunningMean {
 public:
  void add(const at::Tensor& model);

  bool empty() const { return count_ == 0; }
  const at::Tensor& mean() const { return mean_; }  // REQUIRES: not empty.

  // For checkpoints, under names that begin with "swa/".
  void save(NamedTensors& state) const;
  void load(const NamedTensors& state);

 private:
  at::Tensor mean_;
  std::int64_t count_ = 0;
};

}  // namespace huddle
