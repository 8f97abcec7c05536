#include "huddle/train/optimizer.h"

#include <torch/optim.h>

#include <typeinfo>

#include "huddle/base/error.h"

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
  // By its very type: a class of the user's own may step otherwise.
  const std::type_info& type = typeid(optimizer);
  if (type == typeid(torch::optim::SGD)) {
    const auto& sgd = static_cast<const torch::optim::SGDOptions&>(options);
    if (sgd.dampening() != 0) return std::nullopt;
    return UpdateOptions{.kind = UpdateOptions::Kind::sgd,
                         .learning_rate = sgd.lr(),
                         .weight_decay = sgd.weight_decay(),
                         .momentum = sgd.momentum(),
                         .nesterov = sgd.nesterov()};
  }
  if (type == typeid(torch::optim::Adam))
    return adam_options<torch::optim::AdamOptions>(options, UpdateOptions::Kind::adam);
  if (type == typeid(torch::optim::AdamW))
    return adam_options<torch::optim::AdamWOptions>(options, UpdateOptions::Kind::adamw);
  return std::nullopt;
}

void require_steps_without_closure(torch::optim::Optimizer& optimizer) {
  if (typeid(optimizer) == typeid(torch::optim::LBFGS))
    throw UsageError(
        "LBFGS asks for the loss several times in a step, which no strategy can offer: use another "
        "optimizer, for example torch::optim::AdamW.");
  if (optimizer.param_groups().empty())
    throw UsageError("the optimizer has no parameters: give it those of the model.");
}

double learning_rate(torch::optim::Optimizer& optimizer) try {
  return optimizer.param_groups().front().options().get_lr();
} catch (const c10::Error&) {  // An optimizer of the user's own need not have one.
  return 0;
}

}  // namespace huddle
