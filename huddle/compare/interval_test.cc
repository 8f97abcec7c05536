#include "huddle/compare/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace huddle {
namespace {

TEST(MeasuredMean, IsStudentsInterval) {
  // By hand: mean 2, standard deviation 1, t(2) = 4.303, over the square root of 3.
  const auto [mean, interval] = measured_mean(std::vector{1.0, 2.0, 3.0});
  ASSERT_TRUE(mean && interval);
  EXPECT_DOUBLE_EQ(*mean, 2);
  EXPECT_NEAR(interval->low, 2 - 2.4843, 1e-4);
  EXPECT_NEAR(interval->high, 2 + 2.4843, 1e-4);
}

TEST(MeasuredMean, IsCertainOfWhatNeverVaries) {
  const auto interval = measured_mean(std::vector<double>(5, 1.5)).interval;
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 1.5);
  EXPECT_DOUBLE_EQ(interval->high, 1.5);
}

TEST(MeasuredMean, KnowsNoIntervalFromOneValue) {
  EXPECT_EQ(measured_mean(std::vector{1.0}).value, 1);
  EXPECT_FALSE(measured_mean(std::vector{1.0}).interval);
  EXPECT_FALSE(measured_mean(std::vector<double>{}).value);
  EXPECT_FALSE(measured_mean(std::vector<double>{}).interval);
}

TEST(MeasuredMean, GrowsNarrowerWithManyValues) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(i % 2);
  const auto interval = measured_mean(values).interval;
  ASSERT_TRUE(interval);
  EXPECT_LT(interval->high - interval->low, 0.36);
}

TEST(MeasuredRatio, TreatsARatioAndItsInverseAlike) {
  const auto there = measured_ratio(std::vector{2.0, 3.0, 2.5});
  const auto back = measured_ratio(std::vector{1 / 2.0, 1 / 3.0, 1 / 2.5});
  ASSERT_TRUE(there.interval && back.interval);
  EXPECT_NEAR(*there.value, 1 / *back.value, 1e-12);
  EXPECT_NEAR(there.interval->low, 1 / back.interval->high, 1e-12);
  EXPECT_NEAR(*there.value, std::cbrt(2.0 * 3.0 * 2.5), 1e-12) << "the geometric mean";
}

}  // namespace
}  // namespace huddle
