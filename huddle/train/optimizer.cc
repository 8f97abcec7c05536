#include "huddle/train/optimizer.h"

#include <torch/optim.h>

namespace huddle {
namespace {

template <typename AdamLike>
std::optional<UpdateOptions> adam_options(const torch::optim::OptimizerOptions& options,
                                          UpdateOptions::Kind kind) {
  const auto& adam = static_cast<const AdamLike&>(options);
  if (adam.amsgrad()) return std::nullopt;
  return UpdateOptions{.kind = kind,
                       .learning_rate = adam.lr(),
                       .weight_decay = adam.weight_decay(),
                       .beta1 = std::get<0>(adam.betas()),
                       .beta2 = std::get<1>(adam.betas()),
                       .epsilon = adam.eps()};
}

}  // namespace

std::optional<UpdateOptions> update_options(torch::optim::Optimizer& optimizer) {
  if (optimizer.param_groups().size() != 1) return std::nullopt;
  const torch::optim::OptimizerOptions& options = optimizer.param_groups().front().options();
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr) {
    const auto& sgd = static_cast<const torch::optim::SGDOptions&>(options);
    if (sgd.dampening() != 0) return std::nullopt;
    return UpdateOptions{.kind = UpdateOptions::Kind::sgd,
                         .learning_rate = sgd.lr(),
                         .weight_decay = sgd.weight_decay(),
                         .momentum = sgd.momentum(),
                         .nesterov = sgd.nesterov()};
  }
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr)
    return adam_options<torch::optim::AdamOptions>(options, UpdateOptions::Kind::adam);
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer) != nullptr)
    return adam_options<torch::optim::AdamWOptions>(options, UpdateOptions::Kind::adamw);
  return std::nullopt;
}

double learning_rate(torch::optim::Optimizer& optimizer) {
  return optimizer.param_groups().front().options().get_lr();
}

}  // namespace huddle
