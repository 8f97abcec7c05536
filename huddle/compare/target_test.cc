#include "huddle/compare/target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace huddle {
namespace {

CurvePoint point_at(Time time, double accuracy, double drift) {
  return {.progress = 10 * time,
          .time = time,
          .consensus = {.loss = 1 - accuracy, .accuracy = accuracy},
          .drift = drift};
}

constexpr ConsensusCost kCost{.seconds = 5, .bytes_per_worker = 100};
const Target kNinety{.of = Target::Of::accuracy, .value = 0.9};

TEST(Reach, TakesTheFirstPointThatHasIt) {
  const std::vector curve{point_at(1, 0.5, 0), point_at(2, 0.8, 0), point_at(3, 0.7, 0),
                          point_at(4, 0.9, 0)};
  EXPECT_EQ(reach({.value = 0.8}, curve, kCost)->time, 2);
  EXPECT_EQ(reach({.of = Target::Of::loss, .value = 0.15}, curve, kCost)->time, 4);
  EXPECT_FALSE(reach({.value = 0.95}, curve, kCost));
}

TEST(Reach, NeverReachesWithModelsThatAreNotFinite) {
  CurvePoint diverged = point_at(1, 0.9, 0);
  diverged.consensus = {std::nan(""), std::nullopt};
  diverged.drift = std::nan("");
  EXPECT_FALSE(reach({.of = Target::Of::loss, .value = 1e9}, std::vector{diverged}, kCost));
}

TEST(Reach, AddsTheAverageWhereNobodyHoldsTheMean) {
  const auto reached =
      reach(kNinety, std::vector{point_at(1, 0.5, 0.1), point_at(2, 0.9, 0.1)}, kCost);
  ASSERT_TRUE(reached);
  EXPECT_EQ(reached->time, 7);
  EXPECT_EQ(reached->trained_until, 2);
  EXPECT_EQ(reached->progress, 20);
  EXPECT_TRUE(reached->must_form);
  EXPECT_EQ(reached->bytes_per_worker, 100);
}

TEST(Reach, AddsNothingWhereAllHoldIt) {
  const auto reached = reach(kNinety, std::vector{point_at(2, 0.9, 1e-9)}, kCost);
  EXPECT_EQ(reached->time, 2);
  EXPECT_FALSE(reached->must_form);
  EXPECT_EQ(reached->bytes_per_worker, 0);
}

TEST(Reach, WaitsForTheEndOfARoundWhereThatIsSooner) {
  const std::vector curve{point_at(2, 0.9, 0.1), point_at(4, 0.91, 0)};
  EXPECT_EQ(reach(kNinety, curve, kCost)->time, 4);
  EXPECT_EQ(reach(kNinety, curve, ConsensusCost{.seconds = 1})->time, 3);
}

TEST(Reach, CountsOnlyFormedMeansWhereTheCostIsNotKnown) {
  EXPECT_FALSE(reach(kNinety, std::vector{point_at(2, 0.9, 0.1)}, {}));
  EXPECT_EQ(reach(kNinety, std::vector{point_at(2, 0.9, 0)}, {})->time, 2);
}

}  // namespace
}  // namespace huddle
