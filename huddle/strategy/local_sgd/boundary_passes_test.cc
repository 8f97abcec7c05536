// Every pass against the same formula written with tensor operations, in all types and at awkward
// sizes.

#include "huddle/strategy/local_sgd/boundary_passes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/collective/arithmetic.h"
#include "huddle/replica/late_values.h"

namespace huddle {
namespace {

class BoundaryPasses : public testing::TestWithParam<at::ScalarType> {
 protected:
  static constexpr std::int64_t kSizes[] = {0, 1, 7, 1031};

  at::Tensor some(std::int64_t size) {
    at::Tensor values = at::empty({size}, at::kDouble);
    for (std::int64_t i = 0; i < size; ++i) values[i] = random_.normal();
    return values.to(GetParam());
  }

  // Formulas are computed in double and rounded once; a pass may round once more.
  void expect_near(const at::Tensor& actual, const at::Tensor& expected) {
    const double epsilon = GetParam() == at::kDouble  ? 1e-14
                           : GetParam() == at::kFloat ? 1e-6
                                                      : 2e-2;
    EXPECT_TRUE(at::allclose(actual.to(at::kDouble), expected, epsilon, epsilon));
  }

  Random random_{7, {}};
};

at::Tensor exact(const at::Tensor& values) { return values.to(at::kDouble); }

TEST_P(BoundaryPasses, PullsBackAndProposes) {
  for (const std::int64_t size : kSizes) {
    const at::Tensor x = some(size);
    const at::Tensor anchor = some(size);
    const at::Tensor expected = 0.4 * exact(x) + 0.6 * exact(anchor);
    pull_back({.alpha = 0.6}, x, anchor, {});
    expect_near(x, expected);
    EXPECT_TRUE(at::equal(anchor, x)) << "the proposal is the pulled-back model";
  }
}

TEST_P(BoundaryPasses, PullsBackAndProposesWithTheAnchorsLastMove) {
  for (const std::int64_t size : kSizes) {
    const at::Tensor x = some(size);
    const at::Tensor anchor = some(size);
    const at::Tensor previous = some(size);
    const at::Tensor z = anchor.clone();
    const at::Tensor pulled = 0.4 * exact(x) + 0.6 * exact(z);
    const at::Tensor proposal = pulled + 0.7 * (exact(z) - exact(previous));
    pull_back({.alpha = 0.6, .momentum = 0.7}, x, anchor, previous);
    expect_near(x, pulled);
    expect_near(anchor, proposal);
    EXPECT_TRUE(at::equal(previous, z));
  }
}

TEST_P(BoundaryPasses, PullsElasticallyFromOldValues) {
  for (const std::int64_t size : kSizes) {
    const at::Tensor x = some(size);
    const at::Tensor anchor = some(size);
    const at::Tensor pulled = 0.9 * exact(x) + 0.1 * exact(anchor);
    const at::Tensor share = (1 - 0.4) * exact(anchor) + 0.4 * exact(x);
    pull_elastically(x, anchor, 0.1, 4);
    expect_near(x, pulled);
    expect_near(anchor, share);
  }
}

TEST_P(BoundaryPasses, KeepsTheDisplacement) {
  for (const std::int64_t size : kSizes) {
    const at::Tensor x = some(size);
    const at::Tensor average = some(size).to(sum_type(GetParam()));
    const at::Tensor sent = some(size);
    const at::Tensor expected = exact(average) + exact(x) - exact(sent);
    LateValues{x, average, sent}.correct();
    expect_near(x, expected);
    EXPECT_TRUE(at::equal(average, x.to(average.scalar_type())));
    EXPECT_TRUE(at::equal(sent, x));
  }
}

TEST_P(BoundaryPasses, LetNothingBecomeNegativeThatNeverIs) {
  const auto values = [](std::vector<double> numbers) {
    return at::tensor(numbers, at::kDouble).to(GetParam());
  };
  const at::Tensor x = values({0.25, 0.25, 0.25, 0.25});
  const at::Tensor average = at::full({4}, 0.5, sum_type(GetParam()));
  LateValues{x, average, values({1, 0.5, 1, 1}), {{1, 3}}}.correct();
  EXPECT_TRUE(at::equal(x, values({-0.25, 0.25, 0.25, -0.25})));
}

TEST_P(BoundaryPasses, TakesOuterStepsByModelAndByDelta) {
  for (const Outer outer : {Outer::none, Outer::heavy_ball, Outer::nesterov})
    for (const std::int64_t size : kSizes) {
      const at::Tensor mean = some(size);
      const at::Tensor common = some(size);
      const at::Tensor velocity = some(size);
      const at::Tensor delta = common - mean;

      const at::Tensor faster = 0.9 * exact(velocity) + exact(delta);
      const at::Tensor move = outer == Outer::none         ? exact(delta)
                              : outer == Outer::heavy_ball ? faster
                                                           : exact(delta) + 0.9 * faster;
      const at::Tensor expected = exact(common) - 0.7 * move;
      const OuterStep step{outer, 0.7, 0.9};
      for (const at::Tensor& payload : {delta, at::Tensor()}) {
        const at::Tensor x = mean.clone();
        const at::Tensor from = common.clone();
        const at::Tensor pace = velocity.clone();
        outer_step(step, x, from, pace, payload);
        expect_near(x, expected);
        EXPECT_TRUE(at::equal(from, x));
        expect_near(pace, outer == Outer::none ? exact(velocity) : faster);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, BoundaryPasses,
                         testing::Values(at::kDouble, at::kFloat, at::kBFloat16));

TEST(BoundaryPassesOnMeta, ReturnAtOnce) {
  const at::Tensor meta = at::empty({1000}, at::TensorOptions().device(at::kMeta));
  EXPECT_NO_THROW(pull_back({}, meta, meta, {}));
  EXPECT_NO_THROW(outer_step({}, meta, meta, {}, meta));
}

TEST(BoundaryPassesOnMismatches, AreRefused) {
  EXPECT_THROW(pull_back({}, at::zeros({2}), at::zeros({3}), {}), LogicError);
  EXPECT_THROW((LateValues{at::zeros({2}), at::zeros({2}), at::zeros({2}, at::kDouble)}.correct()),
               LogicError);
}

}  // namespace
}  // namespace huddle
