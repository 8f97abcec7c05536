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

TEST(Contraction, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(contraction(RandomPartition{.workers = 4, .groups = 5}), UsageError);
  EXPECT_THROW(contraction(RandomPartition{.workers = 4, .groups = 0}), UsageError);
}

}  // namespace
}  // namespace huddle
