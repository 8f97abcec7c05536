#include "huddle/compare/interval.h"

#include <gtest/gtest.h>

#include <vector>

namespace huddle {
namespace {

TEST(EstimateMean, IsStudentsInterval) {
  // By hand: mean 2, standard deviation 1, t(2) = 4.303, over the square root of 3.
  const auto estimate = estimate_mean(std::vector{1.0, 2.0, 3.0});
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->value, 2);
  EXPECT_NEAR(estimate->low, 2 - 2.4843, 1e-4);
  EXPECT_NEAR(estimate->high, 2 + 2.4843, 1e-4);
}

TEST(EstimateMean, IsCertainOfWhatNeverVaries) {
  const auto estimate = estimate_mean(std::vector<double>(5, 1.5));
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->low, 1.5);
  EXPECT_DOUBLE_EQ(estimate->high, 1.5);
}

TEST(EstimateMean, KnowsNothingFromOneValue) {
  EXPECT_FALSE(estimate_mean(std::vector{1.0}));
  EXPECT_FALSE(estimate_mean(std::vector<double>{}));
}

TEST(EstimateMean, GrowsNarrowerWithManyValues) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(i % 2);
  const auto estimate = estimate_mean(values);
  ASSERT_TRUE(estimate);
  EXPECT_LT(estimate->high - estimate->low, 0.36);
}

TEST(EstimateRatio, TreatsARatioAndItsInverseAlike) {
  const auto there = estimate_ratio(std::vector{2.0, 3.0, 2.5});
  const auto back = estimate_ratio(std::vector{1 / 2.0, 1 / 3.0, 1 / 2.5});
  ASSERT_TRUE(there && back);
  EXPECT_NEAR(there->value, 1 / back->value, 1e-12);
  EXPECT_NEAR(there->low, 1 / back->high, 1e-12);
  EXPECT_DOUBLE_EQ(there->value, geometric_mean(std::vector{2.0, 3.0, 2.5}));
}

}  // namespace
}  // namespace huddle
