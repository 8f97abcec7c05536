#include "huddle/schedule/contraction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "huddle/base/error.h"

namespace huddle {
namespace {

TEST(Contraction, OfPartitionsCountsGroups) {
  EXPECT_DOUBLE_EQ(contraction(RandomPartition{.workers = 16, .groups = 4}), 0.2);
  EXPECT_EQ(contraction(RandomPartition{.workers = 1, .groups = 1}), 0);
  EXPECT_TRUE(std::isinf(deviation_variance(RandomPartition{.workers = 5, .groups = 5})));
}

TEST(Contraction, OfOneGroupAgreesWithItsAverageOverAllGroups) {
  WeightedGroups all{.workers = 5, .groups = {}, .probabilities = {}};
  for (int a = 0; a < 5; ++a)
    for (int b = a + 1; b < 5; ++b) {
      all.groups.emplace_back(std::vector{WorkerId{a}, WorkerId{b}});
      all.probabilities.push_back(0.1);
    }
  EXPECT_NEAR(contraction(all), contraction(RandomGroup{.workers = 5, .size = 2}), 1e-13);
}

TEST(Contraction, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(contraction(RandomPartition{.workers = 4, .groups = 5}), UsageError);
  EXPECT_THROW(contraction(RandomPartition{.workers = 4, .groups = 0}), UsageError);
  EXPECT_THROW(contraction(RandomGroup{.workers = 4, .size = 5}), UsageError);
  const Group pair({WorkerId{0}, WorkerId{1}});
  EXPECT_THROW(contraction(WeightedGroups{.workers = 2, .groups = {pair}, .probabilities = {0.5}}),
               UsageError);
  EXPECT_THROW(contraction(WeightedGroups{.workers = 1, .groups = {pair}, .probabilities = {1}}),
               UsageError);
  EXPECT_THROW(contraction(WeightedGroups{.workers = 2, .groups = {pair}, .probabilities = {}}),
               UsageError);
}

}  // namespace
}  // namespace huddle
