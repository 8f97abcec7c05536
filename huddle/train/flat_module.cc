#include "huddle/train/flat_module.h"

#include <torch/torch.h>

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using NamedDict = torch::OrderedDict<std::string, at::Tensor>;
using Named = NamedDict::Item;

// The wanted tensors in their order, each once: layers may share a parameter under two names.
template <typename Wanted>
std::vector<Named> collect(const NamedDict& all, Wanted wanted) {
  std::vector<Named> chosen;
  for (const auto& item : all) {
    const at::Tensor& tensor = item.value();
    const bool seen = std::any_of(chosen.begin(), chosen.end(), [&](const Named& other) {
      return other.value().is_same(tensor);
    });
    if (wanted(tensor) && !seen) chosen.push_back(item);
  }
  return chosen;
}

// Throws UsageError unless all tensors could lie in one flat tensor.
void require_alike(const char* what, const std::vector<Named>& all) {
  for (const Named& each : all) {
    const Named& first = all.front();
    if (each.value().scalar_type() == first.value().scalar_type() &&
        each.value().device() == first.value().device())
      continue;
    const auto kind = [](const Named& named) {
      return concat("'", named.key(), "' (", named.value().scalar_type(), " on ",
                    named.value().device(), ")");
    };
    throw UsageError(concat("model: the ", what, " ", kind(first), " and ", kind(each),
                            " differ in type or device; convert the module with to() first."));
  }
}

// Zeros with room for all of them, of their type and on their device.
at::Tensor flat_zeros(const std::vector<Named>& all) {
  std::int64_t size = 0;
  for (const Named& each : all) size += each.value().numel();
  return at::zeros({size}, all.empty() ? at::TensorOptions() : all.front().value().options());
}

// Tensors in the memory of `flat`, one after another, shaped like each of the tensors. To autograd
// they are no views but tensors of their own: libtorch's zero_grad() refuses gradients that are
// views.
std::vector<at::Tensor> views_of(const at::Tensor& flat, const std::vector<Named>& shapes) {
  std::vector<at::Tensor> views;
  std::int64_t begin = 0;
  for (const Named& each : shapes) {
    views.push_back(
        at::empty({0}, flat.options()).set_(flat.storage(), begin, each.value().sizes()));
    begin += each.value().numel();
  }
  return views;
}

// Makes each tensor a view of one new flat tensor, values preserved. `set_data` changes what the
// handles inside the module refer to, so the module needs no changes.
at::Tensor move_into_flat(const std::vector<Named>& all) {
  const at::Tensor flat = flat_zeros(all);
  const std::vector<at::Tensor> views = views_of(flat, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    views[i].copy_(all[i].value());
    all[i].value().set_data(views[i]);
  }
  return flat;
}

}  // namespace

double parameter_bytes(const torch::nn::Module& module) {
  double bytes = 0;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.requires_grad()) bytes += static_cast<double>(parameter.nbytes());
  return bytes;
}

FlatModule flatten(torch::nn::Module& module) {
  const auto trainable = [](const at::Tensor& tensor) { return tensor.requires_grad(); };
  const auto measured = [](const at::Tensor& tensor) { return tensor.is_floating_point(); };
  const std::vector<Named> parameters = collect(module.named_parameters(), trainable);
  const std::vector<Named> statistics = collect(module.named_buffers(), measured);
  require_alike("parameters", parameters);
  require_alike("buffers", statistics);

  const at::NoGradGuard no_grad;
  FlatModule flat;
  flat.parameters = move_into_flat(parameters);
  flat.statistics = move_into_flat(statistics);
  std::int64_t begin = 0;
  for (const Named& each : statistics) {
    const Range range{begin, begin + each.value().numel()};
    if (each.key().ends_with("running_var")) flat.variances.push_back(range);
    begin = range.end;
  }
  flat.gradients = at::zeros_like(flat.parameters);
  flat.gradient_views = views_of(flat.gradients, parameters);
  for (const Named& parameter : parameters) {
    flat.parameter_names.push_back(parameter.key());
    flat.parameter_sizes.push_back(parameter.value().numel());
    flat.module_parameters.push_back(parameter.value());
  }
  restore_gradient_views(flat);
  return flat;
}

void restore_gradient_view(FlatModule& flat, std::size_t parameter) {
  at::Tensor& gradient = flat.module_parameters[parameter].mutable_grad();
  const at::Tensor& view = flat.gradient_views[parameter];
  if (gradient.is_same(view)) return;
  const at::NoGradGuard no_grad;
  if (gradient.defined()) {
    view.copy_(gradient);
  } else {
    view.zero_();
  }
  gradient = view;
}

void restore_gradient_views(FlatModule& flat) {
  for (std::size_t i = 0; i < flat.module_parameters.size(); ++i) restore_gradient_view(flat, i);
}

std::map<std::string, at::Tensor> state_dict(const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value().detach();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value().detach();
  return state;
}

}  // namespace huddle
