#include "huddle/replica/late_values.h"

#include <ATen/ops/empty_like.h>

#include "huddle/replica/flat_pass.h"

namespace huddle {
namespace {

template <typename Real, typename Value>
void correct_loop(Value* __restrict x, Value* __restrict average, Value* __restrict sent,
                  std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const Real moved = static_cast<Real>(x[i]) - static_cast<Real>(sent[i]);
    x[i] = average[i] = sent[i] = static_cast<Value>(static_cast<Real>(average[i]) + moved);
  }
}

}  // namespace

LateValues LateValues::of(const at::Tensor& values) {
  return {values, at::empty_like(values), at::empty_like(values)};
}

void LateValues::start() const {
  average.copy_(values);
  sent.copy_(values);
}

void LateValues::correct() const {
  with_types({values, average, sent}, [&]<typename Value, typename Real>(Value, Real) {
    correct_loop<Real>(data<Value>(values), data<Value>(average), data<Value>(sent),
                       values.numel());
  });
}

}  // namespace huddle
