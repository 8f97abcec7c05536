#include "huddle/replica/update_rule.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>

#include <cmath>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// Written so that a NaN is refused too.
void require_not_negative(const char* name, double value) {
  if (!(value >= 0))
    throw UsageError(concat("optimizer: ", name, "=", value, " is not a number at least 0."));
}

void require_beta(const char* name, double value) {
  if (!(value >= 0 && value < 1))
    throw UsageError(concat("optimizer: ", name, "=", value, " is not at least 0 and below 1."));
}

// parameters -= rate * parameters. A factor 1 - rate would be rounded to the parameters' type
// before it is used, which in float32 changes small rates by whole per cents.
void decay(at::Tensor& parameters, double rate) {
  if (rate != 0) parameters.add_(parameters, -rate);
}

void apply_sgd(const UpdateOptions& options, at::Tensor& parameters, const at::Tensor& gradients,
               std::span<const at::Tensor> slots, double learning_rate) {
  if (options.momentum == 0) {
    decay(parameters, learning_rate * options.weight_decay);
    parameters.add_(gradients, -learning_rate);
    return;
  }
  at::Tensor velocity = slots[0];
  at::add_out(velocity, gradients, velocity, options.momentum);  // One pass, unlike mul_ and add_.
  if (options.weight_decay != 0) velocity.add_(parameters, options.weight_decay);
  if (!options.nesterov) {
    parameters.add_(velocity, -learning_rate);
    return;
  }
  // The step is along the decayed gradient + momentum * velocity; adding the terms one by one
  // leaves the gradients as they are and needs no temporary tensor.
  decay(parameters, learning_rate * options.weight_decay);
  parameters.add_(gradients, -learning_rate);
  parameters.add_(velocity, -learning_rate * options.momentum);
}

// m / (sqrt(v) / s + epsilon) with s = sqrt(1 - beta2^count) is computed as
// s * m / (sqrt(v) + epsilon * s): the same value with one pass fewer.
void apply_adam(const UpdateOptions& options, at::Tensor& parameters, const at::Tensor& gradients,
                std::span<const at::Tensor> slots, double learning_rate, std::int64_t count) {
  const at::Tensor& exp_avg = slots[0];
  const at::Tensor& exp_avg_sq = slots[1];
  const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(count));
  const double correction2 = std::sqrt(1 - std::pow(options.beta2, static_cast<double>(count)));

  exp_avg.lerp_(gradients, 1 - options.beta1);
  exp_avg_sq.mul_(options.beta2).addcmul_(gradients, gradients, 1 - options.beta2);
  const at::Tensor denominator = exp_avg_sq.sqrt().add_(options.epsilon * correction2);
  parameters.addcdiv_(exp_avg, denominator, -learning_rate * correction2 / correction1);
}

}  // namespace

UpdateRule::UpdateRule(const UpdateOptions& options) : options_(options) {
  require_not_negative("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
  require_not_negative("momentum", options.momentum);
  require_not_negative("epsilon", options.epsilon);
  require_beta("beta1", options.beta1);
  require_beta("beta2", options.beta2);
  if (options.nesterov && options.momentum == 0)
    throw UsageError("optimizer: nesterov needs momentum above 0; set momentum or leave nesterov.");
}

std::vector<std::string> UpdateRule::slot_names() const {
  if (options_.kind != UpdateOptions::Kind::sgd) return {"exp_avg", kSecondMoments};
  if (options_.momentum != 0) return {"momentum"};
  return {};
}

void UpdateRule::apply(at::Tensor parameters, const at::Tensor& gradients,
                       std::span<const at::Tensor> slots, double learning_rate,
                       std::int64_t count) const {
  check(parameters.sizes() == gradients.sizes(), "parameters and gradients differ in size");
  check(slots.size() == slot_names().size(), "the slots are not those of slot_names()");
  check(count >= 1, "the count of updates includes this one");
  if (parameters.is_meta()) return;  // No numbers: only time is asked for.
  const at::NoGradGuard no_grad;
  switch (options_.kind) {
    case UpdateOptions::Kind::sgd:
      apply_sgd(options_, parameters, gradients, slots, learning_rate);
      return;
    case UpdateOptions::Kind::adam: {
      const double weight_decay = options_.weight_decay;
      const at::Tensor decayed =
          weight_decay == 0 ? gradients : gradients.add(parameters, weight_decay);
      apply_adam(options_, parameters, decayed, slots, learning_rate, count);
      return;
    }
    case UpdateOptions::Kind::adamw:
      decay(parameters, learning_rate * options_.weight_decay);
      apply_adam(options_, parameters, gradients, slots, learning_rate, count);
      return;
  }
}

}  // namespace huddle
