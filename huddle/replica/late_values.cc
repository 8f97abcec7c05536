#include "huddle/replica/late_values.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "huddle/collective/arithmetic.h"
#include "huddle/replica/flat_pass.h"

namespace huddle {
namespace {

template <typename Value, typename Real>
void correct_loop(Value* __restrict x, Real* __restrict average, Value* __restrict sent,
                  bool is_never_negative, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const Real own = static_cast<Real>(x[i]);
    const Real corrected = average[i] + (own - static_cast<Real>(sent[i]));
    const bool is_taken = !is_never_negative || corrected >= 0;
    x[i] = sent[i] = static_cast<Value>(is_taken ? corrected : std::min(own, average[i]));
    average[i] = static_cast<Real>(x[i]);
  }
}

}  // namespace

LateValues LateValues::of(const at::Tensor& values) {
  return {values, at::empty_like(values, sum_type(values.scalar_type())), at::empty_like(values)};
}

void LateValues::start() const {
  average.copy_(values);
  sent.copy_(values);
}

void LateValues::correct() const {
  check(
      average.sizes() == values.sizes() && average.scalar_type() == sum_type(values.scalar_type()),
      "an average of other values");
  with_types({values, sent}, [&]<typename Value, typename Real>(Value, Real) {
    correct_loop(data<Value>(values), data<Real>(average), data<Value>(sent), is_never_negative,
                 values.numel());
  });
}

}  // namespace huddle
