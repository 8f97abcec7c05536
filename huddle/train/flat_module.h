// Moves a module's state into flat tensors, so that a strategy exchanges and updates it in one pass
// over memory while the module goes on computing with views of the same memory.
//
// Costs one copy of the parameters and buffers when it is made, and nothing later: autograd adds
// gradients into the views in place, and BatchNorm updates its running statistics there.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "huddle/replica/replica.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace huddle {

// Used by its worker's thread alone. Shares its memory with the module, and neither needs the other
// to stay alive.
struct FlatModule {
  at::Tensor parameters;  // Those that require gradients, in the module's own order.
  at::Tensor gradients;   // Likewise.
  at::Tensor statistics;  // Floating-point buffers; may be empty. Integer buffers stay apart.
  std::vector<Range> variances;  // Where BatchNorm's running variances lie in them.

  // One entry for each parameter, in flat order. A parameter that two layers share is there once.
  std::vector<std::string> parameter_names;
  std::vector<std::int64_t> parameter_sizes;
  std::vector<at::Tensor> module_parameters;  // As the module holds them: views of `parameters`.
  std::vector<at::Tensor> gradient_views;     // Of `gradients`, shaped like the parameters.
};

// Keeps all values; gradients that exist are kept, others begin at 0. Throws UsageError when the
// trainable parameters, or the floating-point buffers, differ among themselves in type or device.
// REQUIRES: afterwards the module is not moved or converted (`to`), which would part it from the
// flat tensors.
FlatModule flatten(torch::nn::Module& module);

// The bytes of the parameters that are trained.
double parameter_bytes(const torch::nn::Module& module);

// Makes the module's gradients views of `gradients` again, after `zero_grad()` or someone's own
// assignment has replaced them. An undefined gradient counts as 0; the values of any other that is
// not the view are copied into it first.
void restore_gradient_views(FlatModule& flat);

// The same for one parameter.
void restore_gradient_view(FlatModule& flat, std::size_t parameter);

// Everything that the module would save, by its own names: parameters, trainable or not, and
// buffers of every type. The tensors share the module's memory, so copying into them loads a state;
// they are not tracked by autograd.
std::map<std::string, at::Tensor> state_dict(const torch::nn::Module& module);

}  // namespace huddle
