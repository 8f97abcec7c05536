// What a pass over flat tensors begins with: the type that they hold, and the type to compute in.

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>

#include <initializer_list>

#include "huddle/base/error.h"

namespace huddle {

template <typename Value>
Value* data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<Value*>(tensor.mutable_data_ptr()) : nullptr;
}

// Calls run(Value{}, Real{}) with the type in which the tensors hold their values and the one to
// compute in; not at all for meta tensors.
template <typename Run>
void with_types(std::initializer_list<at::Tensor> tensors, Run&& run) {
  const at::Tensor& first = *tensors.begin();
  for (const at::Tensor& each : tensors)
    check(!each.defined() || (each.sizes() == first.sizes() && each.dtype() == first.dtype()),
          "the tensors of a pass differ in size or type");
  if (first.is_meta()) return;
  check(first.is_cpu(), "passes compute on the CPU");
  if (first.scalar_type() == at::kFloat) return run(float{}, float{});
  if (first.scalar_type() == at::kDouble) return run(double{}, double{});
  check(first.scalar_type() == at::kBFloat16, "a type that is not averaged");
  run(c10::BFloat16{}, float{});
}

}  // namespace huddle
