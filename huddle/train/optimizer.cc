#include "huddle/train/optimizer.h"

#include <torch/optim.h>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

void refuse(bool condition, const char* what) {
  if (condition)
    throw UsageError(
        concat("the optimizer uses ", what, ", which Huddle's update rules do not have."));
}

template <typename AdamLike>
UpdateOptions adam_options(const torch::optim::OptimizerOptions& options,
                           UpdateOptions::Kind kind) {
  const auto& adam = static_cast<const AdamLike&>(options);
  refuse(adam.amsgrad(), "amsgrad");
  return {.kind = kind,
          .learning_rate = adam.lr(),
          .weight_decay = adam.weight_decay(),
          .beta1 = std::get<0>(adam.betas()),
          .beta2 = std::get<1>(adam.betas()),
          .epsilon = adam.eps()};
}

}  // namespace

UpdateOptions update_options(torch::optim::Optimizer& optimizer) {
  refuse(optimizer.param_groups().size() != 1, "several parameter groups");
  const torch::optim::OptimizerOptions& options = optimizer.param_groups().front().options();
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr) {
    const auto& sgd = static_cast<const torch::optim::SGDOptions&>(options);
    refuse(sgd.dampening() != 0, "dampening");
    return {.kind = UpdateOptions::Kind::sgd,
            .learning_rate = sgd.lr(),
            .weight_decay = sgd.weight_decay(),
            .momentum = sgd.momentum(),
            .nesterov = sgd.nesterov()};
  }
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr)
    return adam_options<torch::optim::AdamOptions>(options, UpdateOptions::Kind::adam);
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer) != nullptr)
    return adam_options<torch::optim::AdamWOptions>(options, UpdateOptions::Kind::adamw);
  throw UsageError(
      "the optimizer is none of SGD, Adam and AdamW; Huddle steps flat parameters itself and knows "
      "only these.");
}

double learning_rate(torch::optim::Optimizer& optimizer) {
  return optimizer.param_groups().front().options().get_lr();
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double learning_rate) {
  optimizer.param_groups().front().options().set_lr(learning_rate);
}

}  // namespace huddle
