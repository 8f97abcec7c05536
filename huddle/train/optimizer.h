// Reads a libtorch optimizer: which update rule it stands for and its learning rate now.
//
// Huddle steps flat tensors itself (see update_rule.h), by the rule and the numbers of the user's
// optimizer, so learning-rate schedulers that act on that optimizer work as usual.

#pragma once

#include "huddle/replica/update_rule.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace huddle {

// Throws UsageError for optimizers other than SGD, Adam and AdamW, for several parameter groups,
// and for options that the flat rules do not have (dampening, amsgrad).
UpdateOptions update_options(torch::optim::Optimizer& optimizer);

// REQUIRES: an optimizer that update_options accepts.
double learning_rate(torch::optim::Optimizer& optimizer);
void set_learning_rate(torch::optim::Optimizer& optimizer, double learning_rate);

}  // namespace huddle
