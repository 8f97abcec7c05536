// Which samples a worker trains on at a step: a pure function of (seed, split, worker, step,
// batch).
//
// A resumed run therefore needs no saved state, and any step can be looked up. Each kind of split
// has a stream of sample indices that is cut into batches:
// - iid: one stream for all, a new permutation of all samples each epoch, dealt out batch by batch;
//   worker w of N takes batch t*N + w at step t.
// - fixed: the worker's shard over and over in one order, as the DS-Sync authors' sampler did.
// - dirichlet, skew: the worker's shard over and over, reshuffled on each pass.
//
// Batches go on across the end of a pass, so all of them are full and a step means as many samples
// to every worker.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/base/random.h"
#include "huddle/train/data/split.h"

namespace huddle {

struct SamplerOptions {
  SplitSpec split;
  int workers = 1;
  std::int64_t batch = 1;  // Samples per worker and step.
  Random::Seed seed = 0;
};

// One worker's view of the data. Not safe to share between threads: it caches the permutation of
// the current pass.
class Sampler {
 public:
  // Throws UsageError, the same one on every worker, unless each worker's shard holds at least one
  // batch. REQUIRES: options.workers > 0, options.batch > 0, worker among them; labels as deal_out
  // requires.
  Sampler(const SamplerOptions& options, std::span<const int> labels, WorkerId worker);

  // The indices of `batch` samples. Cheap when steps are asked in order; a jump costs one shuffle.
  // REQUIRES: step >= 0.
  std::vector<std::int64_t> batch(Step step);

  // Steps in which all workers together see as many samples as the data set has, rounded down; the
  // same on all workers.
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }

 private:
  void enter_pass(std::int64_t pass);

  SamplerOptions options_;
  WorkerId worker_;
  std::int64_t steps_per_epoch_ = 0;
  std::vector<std::int64_t>
      samples_;             // What one pass goes through, in the order in which it was dealt out.
  std::int64_t pass_ = -1;  // The pass whose order is cached; -1 before the first.
  std::vector<std::int64_t> order_;
};

}  // namespace huddle
