#include "huddle/strategy/local_sgd/boundary_passes.h"

#include "huddle/base/error.h"
#include "huddle/replica/flat_pass.h"

namespace huddle {
namespace {

// The loops below compute on `Real` and leave rounding to `Value` to the assignment. Their operands
// never overlap, and saying so lets the compiler use vector instructions.

template <typename Real, typename Value>
void pull_back_loop(Value* __restrict x, Value* __restrict anchor, std::int64_t size, Real alpha) {
  for (std::int64_t i = 0; i < size; ++i) {
    const Real own = static_cast<Real>(x[i]);
    const Real pulled = own + alpha * (static_cast<Real>(anchor[i]) - own);
    x[i] = anchor[i] = static_cast<Value>(pulled);
  }
}

template <typename Real, typename Value>
void pull_back_loop(Value* __restrict x, Value* __restrict anchor, Value* __restrict previous,
                    std::int64_t size, Real alpha, Real momentum) {
  for (std::int64_t i = 0; i < size; ++i) {
    const Real own = static_cast<Real>(x[i]);
    const Real z = static_cast<Real>(anchor[i]);
    const Real velocity = z - static_cast<Real>(previous[i]);
    const Real pulled = own + alpha * (z - own);
    x[i] = static_cast<Value>(pulled);
    previous[i] = anchor[i];
    anchor[i] = static_cast<Value>(pulled + momentum * velocity);
  }
}

template <typename Real, typename Value>
void pull_elastically_loop(Value* __restrict x, Value* __restrict anchor, std::int64_t size,
                           Real alpha, Real all_alpha) {
  for (std::int64_t i = 0; i < size; ++i) {
    const Real own = static_cast<Real>(x[i]);
    const Real z = static_cast<Real>(anchor[i]);
    x[i] = static_cast<Value>(own + alpha * (z - own));
    anchor[i] = static_cast<Value>(z + all_alpha * (own - z));
  }
}

template <typename Real, typename Value>
void outer_step_loop(const OuterStep& step, Value* __restrict x, Value* __restrict common,
                     Value* __restrict velocity, const Value* __restrict mean_delta,
                     std::int64_t size) {
  const Real rate = static_cast<Real>(step.rate);
  const Real momentum = static_cast<Real>(step.momentum);
  const Real of_delta = step.outer == Outer::heavy_ball ? 0 : 1;
  const Real of_velocity = step.outer == Outer::nesterov ? momentum : 1;
  for (std::int64_t i = 0; i < size; ++i) {
    const Real from = static_cast<Real>(common[i]);
    const Real delta =
        mean_delta != nullptr ? static_cast<Real>(mean_delta[i]) : from - static_cast<Real>(x[i]);
    Real move = delta;
    if (step.outer != Outer::none) {
      const Real faster = momentum * static_cast<Real>(velocity[i]) + delta;
      velocity[i] = static_cast<Value>(faster);
      move = of_delta * delta + of_velocity * faster;
    }
    x[i] = common[i] = static_cast<Value>(from - rate * move);
  }
}

}  // namespace

void pull_back(const PullBack& how, const at::Tensor& x, const at::Tensor& anchor,
               const at::Tensor& previous) {
  check(how.momentum == 0 || previous.defined(), "momentum without the anchor before");
  with_types({x, anchor, previous}, [&]<typename Value, typename Real>(Value, Real) {
    const Real alpha = static_cast<Real>(how.alpha);
    if (previous.defined())
      pull_back_loop(data<Value>(x), data<Value>(anchor), data<Value>(previous), x.numel(), alpha,
                     static_cast<Real>(how.momentum));
    else
      pull_back_loop(data<Value>(x), data<Value>(anchor), x.numel(), alpha);
  });
}

void pull_elastically(const at::Tensor& x, const at::Tensor& anchor, double alpha, int workers) {
  with_types({x, anchor}, [&]<typename Value, typename Real>(Value, Real) {
    pull_elastically_loop(data<Value>(x), data<Value>(anchor), x.numel(), static_cast<Real>(alpha),
                          static_cast<Real>(workers * alpha));
  });
}

void outer_step(const OuterStep& step, const at::Tensor& x, const at::Tensor& common,
                const at::Tensor& velocity, const at::Tensor& delta) {
  check(step.outer == Outer::none || velocity.defined(), "an outer optimizer without velocity");
  with_types({x, common, velocity, delta}, [&]<typename Value, typename Real>(Value, Real) {
    outer_step_loop<Real>(step, data<Value>(x), data<Value>(common), data<Value>(velocity),
                          data<Value>(delta), x.numel());
  });
}

}  // namespace huddle
