// One worker's whole training state as flat tensors: what strategies exchange.
//
// Parameters, gradients and every optimizer slot are 1-D tensors of one length and one order (the
// module's own, first layer first), so that a group average, an update or a pull-back is one pass
// over memory. Statistics are what a model measures rather than learns (BatchNorm's running mean
// and variance); integer buffers are never part of it.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "huddle/replica/update_rule.h"

namespace huddle {

// Elements begin..end-1 of the flat parameters.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

// A stretch of whole parameters whose gradients become ready together. Bucket 0 is ready first: it
// holds the last layers.
struct Bucket {
  int index = 0;
  Range range;
};

// One tensor of optimizer state, like the parameters.
struct Slot {
  std::string name;
  at::Tensor values;
};

// Used by its worker's thread alone, except where a strategy hands a tensor to an exchange that is
// under way.
class Replica {
 public:
  // `parameter_sizes`: elements of each of the model's parameters, in flat order. `variances`:
  // which of the statistics are never negative, in order. REQUIRES: the sizes add up to the flat
  // size; all three tensors are 1-D and contiguous, parameters and gradients of one size and type.
  Replica(at::Tensor parameters, at::Tensor gradients, at::Tensor statistics,
          std::vector<std::int64_t> parameter_sizes, std::shared_ptr<const Optimizer> optimizer,
          std::vector<Range> variances = {});
  Replica(at::Tensor parameters, at::Tensor gradients, at::Tensor statistics,
          std::vector<std::int64_t> parameter_sizes, const UpdateRule& rule,
          std::vector<Range> variances = {})
      : Replica(std::move(parameters), std::move(gradients), std::move(statistics),
                std::move(parameter_sizes), std::make_shared<UpdateRule>(rule),
                std::move(variances)) {}

  const at::Tensor& parameters() const { return parameters_; }
  const at::Tensor& gradients() const { return gradients_; }
  const at::Tensor& statistics() const { return statistics_; }
  const std::vector<Range>& variances() const { return variances_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<std::int64_t>& parameter_sizes() const { return parameter_sizes_; }

  // See Optimizer.
  const UpdateRule* rule() const { return optimizer_->rule(); }

  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }

  // What a strategy multiplies the rate of this worker's updates by, so that all workers are heard
  // alike; 1 unless one does. REQUIRES: there is a rule, unless it is 1.
  double rate_factor() const { return rate_factor_; }
  void set_rate_factor(double factor) { rate_factor_ = factor; }

  // How many updates have been taken; Adam's bias correction counts them.
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

  // Lets the optimizer update a part of the parameters. The parts of one step share one count:
  // `end_update` closes it. REQUIRES: there is a rule, or the part is all of them.
  void update(Range range);
  void end_update() { ++updates_; }

  // Scales gradients down to this norm (0: never), as torch's clip_grad_norm_ does.
  void clip_gradients(double norm);

  // As before the first update: all slots are zero, and updates count from there.
  void reset_slots();

  // Cuts the parameters into at most `buckets` stretches of about equal bytes, whole parameters
  // each, in the order in which backward finishes them. Strategies call it once, when they are
  // made. REQUIRES: buckets >= 1.
  const std::vector<Bucket>& cut(int buckets);
  const std::vector<Bucket>& buckets() const { return buckets_; }

  Range everything() const { return {0, parameters_.numel()}; }

 private:
  at::Tensor parameters_;
  at::Tensor gradients_;
  at::Tensor statistics_;
  std::vector<Range> variances_;
  std::vector<std::int64_t> parameter_sizes_;
  std::shared_ptr<const Optimizer> optimizer_;
  std::vector<Slot> slots_;
  std::vector<Bucket> buckets_;
  double learning_rate_ = 0;
  double rate_factor_ = 1;
  std::int64_t updates_ = 0;
};

// That part of a flat tensor, sharing its memory.
at::Tensor part(const at::Tensor& flat, Range range);

}  // namespace huddle
