// What is trained: a model, its data and how good it is. Knows nothing of strategies.
//
// A Problem is loaded once and shared by all workers; each worker makes its own Workload of it.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "huddle/base/ids.h"
#include "huddle/base/random.h"
#include "huddle/record/record.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace huddle {

struct ProblemOptions {
  std::string model = "mlp";
  std::string data = "digits";
  std::filesystem::path data_directory;
  std::string split = "iid";
  int workers = 1;
  std::int64_t batch = 32;
  Random::Seed seed = 0;
  double holdout = 0;  // Share of the training samples to judge by, instead of the test samples.
};

// One worker's share of a problem. Used by its worker's thread alone.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual torch::nn::Module& module() = 0;

  // The loss on this worker's batch number `batch`, ready for backward().
  virtual at::Tensor loss(std::int64_t batch) = 0;

  // Measures the statistics (BatchNorm's mean and variance) anew for the module's parameters, on so
  // many of this worker's batches. Does nothing where there are none.
  virtual void recompute_statistics(std::int64_t batches, const std::function<void()>& between) = 0;

  // How good the module is now, on data that nobody trains on. Leaves the module as it was. Calls
  // `between` every now and then, so that a long evaluation can be ended by an exception from
  // there.
  virtual Quality evaluate(const std::function<void()>& between) = 0;
};

// Immutable; any thread may use it.
class Problem {
 public:
  virtual ~Problem() = default;
  virtual std::unique_ptr<Workload> workload(WorkerId worker) const = 0;

  // Steps in which the workers together see all training data once, at one batch per worker and
  // step.
  virtual std::int64_t steps_per_epoch() const = 0;
};

// The bytes of the parameters that are trained.
double parameter_bytes(const Problem& problem);

// Throws UsageError for whatever cannot work: unknown names and keys, missing files, a batch larger
// than a worker's shard.
std::unique_ptr<Problem> load_problem(const ProblemOptions& options);

}  // namespace huddle
