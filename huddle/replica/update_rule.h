// How gradients change parameters: SGD with momentum, Adam and AdamW on flat tensors, or whatever
// the user's own optimizer does.
//
// Huddle's rules equal those of torch::optim to rounding. They are written on flat tensors, with
// the state passed in, because stepping bucket by bucket during backward, parameter servers and
// averaged optimizer state all need them so.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
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

class UpdateRule;

// Who turns gradients into new parameters: a rule that Huddle knows and applies, or the user.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The state that it needs of Huddle, each a tensor like the parameters, starting at 0.
  virtual std::vector<std::string> slot_names() const = 0;

  // Changes `parameters` and `slots` in place. `count` is the number of updates of these
  // parameters, this one included. REQUIRES: all tensors are 1-D, of one size and type; slots in
  // the order of slot_names().
  virtual void apply(at::Tensor parameters, const at::Tensor& gradients,
                     std::span<const at::Tensor> slots, double learning_rate,
                     std::int64_t count) const = 0;

  // By which a part of the parameters can be updated, or somebody else's; null: there is none, and
  // only the user can update, all of them at once.
  virtual const UpdateRule* rule() const { return nullptr; }
};

// The user's own: any optimizer that steps the parameters of a module, which are views of the flat
// ones.
class UsersOptimizer final : public Optimizer {
 public:
  explicit UsersOptimizer(std::function<void()> step) : step_(std::move(step)) {}

  std::vector<std::string> slot_names() const override { return {}; }
  void apply(at::Tensor, const at::Tensor&, std::span<const at::Tensor>, double,
             std::int64_t) const override {
    step_();
  }

 private:
  std::function<void()> step_;
};

// Stateless; any thread may use it.
class UpdateRule final : public Optimizer {
 public:
  static constexpr const char* kSecondMoments = "exp_avg_sq";  // A slot that is never negative.

  // Throws UsageError on values that torch.optim refuses too (negative rates, betas outside [0, 1),
  // Nesterov without momentum).
  explicit UpdateRule(const UpdateOptions& options);

  const UpdateOptions& options() const { return options_; }

  // {"momentum"}, or {"exp_avg", "exp_avg_sq"}, or none.
  std::vector<std::string> slot_names() const override;

  void apply(at::Tensor parameters, const at::Tensor& gradients, std::span<const at::Tensor> slots,
             double learning_rate, std::int64_t count) const override;

  const UpdateRule* rule() const override { return this; }

 private:
  UpdateOptions options_;
};

}  // namespace huddle
