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

LateValues LateValues::of_statistics(const Replica& replica) {
  LateValues late = of(replica.statistics());
  late.never_negative = replica.variances();
  return late;
}

void LateValues::start() const {
  average.copy_(values);
  sent.copy_(values);
}

void LateValues::correct() const {
  check(
      average.sizes() == values.sizes() && average.scalar_type() == sum_type(values.scalar_type()),
      "an average of other values");
  const auto correct = [&](Range range, bool is_never_negative) {
    const at::Tensor own = part(values, range);
    const at::Tensor given = part(sent, range);
    with_types({own, given}, [&]<typename Value, typename Real>(Value, Real) {
      correct_loop(data<Value>(own), data<Real>(part(average, range)), data<Value>(given),
                   is_never_negative, range.size());
    });
  };
  std::int64_t begin = 0;
  for (const Range& each : never_negative) {
    correct({begin, each.begin}, false);
    correct(each, true);
    begin = each.end;
  }
  correct({begin, values.numel()}, false);
}

}  // namespace huddle
