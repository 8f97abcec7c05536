// Reads a libtorch optimizer: which update rule it stands for and its learning rate now.
//
// Where Huddle knows the rule it steps flat tensors itself (update_rule.h), by the numbers of the
// user's optimizer, so learning-rate schedulers that act on that optimizer work as usual. Any other
// optimizer takes its steps itself.

#pragma once

#include <array>
#include <optional>

#include "huddle/replica/update_rule.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace huddle {

// As they are called everywhere, by UpdateOptions::Kind.
inline constexpr std::array kOptimizers{"sgd", "adam", "adamw"};

// Nothing for optimizers other than SGD, Adam and AdamW, for several parameter groups, and for
// options that the flat rules do not have (dampening, amsgrad).
std::optional<UpdateOptions> update_options(torch::optim::Optimizer& optimizer);

// Throws UsageError for LBFGS, and for an optimizer of nothing.
void require_steps_without_closure(torch::optim::Optimizer& optimizer);

// Of the first parameter group; 0 where an optimizer of the user's own has none.
double learning_rate(torch::optim::Optimizer& optimizer);

}  // namespace huddle
