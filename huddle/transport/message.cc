#include "huddle/transport/message.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "huddle/base/error.h"

namespace huddle::message {

at::Tensor tensor_of(std::vector<double> numbers, std::size_t size) {
  check(numbers.size() <= size, "a message is longer than both ends expect");
  const at::Tensor tensor = at::zeros({static_cast<std::int64_t>(size)}, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

std::span<const double> numbers_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace huddle::message
