#include "huddle/strategy/parameter_server/server_messages.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

namespace huddle {
namespace {

at::Tensor two_numbers(double first, double second) {
  return at::tensor(std::vector<double>{first, second}, at::kDouble);
}

}  // namespace

Range slice_of(const Bucket& bucket, WorkerId host, int workers) {
  const std::int64_t least = bucket.range.size() / workers;
  const std::int64_t one_more = bucket.range.size() % workers;  // So many have one element more.
  const auto begin = [&](std::int64_t i) {
    return bucket.range.begin + i * least + std::min(i, one_more);
  };
  return {begin(host.value), begin(host.value + 1)};
}

at::Tensor to_tensor(const Push& push) {
  return two_numbers(push.is_last ? 1 : 0, push.learning_rate);
}

at::Tensor to_tensor(const ServerAnswer& answer) {
  return two_numbers(answer.go_on ? 1 : 0, static_cast<double>(answer.updates));
}

at::Tensor empty_push() { return at::zeros({2}, at::kDouble); }
at::Tensor empty_server_answer() { return at::zeros({2}, at::kDouble); }

Push to_push(const at::Tensor& tensor) {
  const double* const values = tensor.const_data_ptr<double>();
  return {.is_last = values[0] != 0, .learning_rate = values[1]};
}

ServerAnswer to_server_answer(const at::Tensor& tensor) {
  const double* const values = tensor.const_data_ptr<double>();
  return {.go_on = values[0] != 0, .updates = static_cast<std::int64_t>(values[1])};
}

}  // namespace huddle
