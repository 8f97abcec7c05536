// How gradients change parameters: SGD with momentum, Adam and AdamW on flat tensors.
//
// The rules equal those of torch::optim to rounding. They are written on flat tensors, with the
// state passed in, because stepping bucket by bucket during backward, parameter servers and
// averaged optimizer state all need them so.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace huddle {

struct UpdateOptions {
  enum class Kind { sgd, adam, adamw };

  Kind kind = Kind::sgd;
  double learning_rate = 0.1;
  double weight_decay = 0;
  double momentum = 0;    // sgd.
  bool nesterov = false;  // sgd.
  double beta1 = 0.9;     // adam, adamw.
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// Stateless; any thread may use it.
class UpdateRule {
 public:
  // Throws UsageError on values that torch.optim refuses too (negative rates, betas outside [0, 1),
  // Nesterov without momentum).
  explicit UpdateRule(const UpdateOptions& options);

  const UpdateOptions& options() const { return options_; }

  // The state that the rule needs, each a tensor like the parameters, starting at 0: {"momentum"},
  // or {"exp_avg", "exp_avg_sq"}, or none.
  std::vector<std::string> slot_names() const;

  // Changes `parameters` and `slots` in place. `count` is the number of updates of these
  // parameters, this one included. REQUIRES: all tensors are 1-D, of one size and type; slots in
  // the order of slot_names().
  void apply(at::Tensor parameters, const at::Tensor& gradients, std::span<const at::Tensor> slots,
             double learning_rate, std::int64_t count) const;

 private:
  UpdateOptions options_;
};

}  // namespace huddle
