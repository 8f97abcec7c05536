#include "huddle/strategy/shares.h"

#include <gtest/gtest.h>

#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// So many steps of all workers, each as often as its pace says, in turns.
void take_steps(Shares& shares, const std::vector<int>& paces, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (std::size_t worker = 0; worker < paces.size(); ++worker)
      for (int step = 0; step < paces[worker]; ++step) shares.stepped({static_cast<int>(worker)});
}

double mean_factor(const Shares& shares, int workers) {
  double mean = 0;
  for (int worker = 0; worker < workers; ++worker)
    if (shares.share({worker}) > 0) mean += shares.share({worker}) * shares.factor({worker});
  return mean;
}

TEST(Shares, ThoseWhoTakeTurnsKeepTheirRateToTheBit) {
  for (const int workers : {1, 2, 3, 7, 8, 64, 1000}) {
    Shares shares(workers);
    for (int step = 0; step < 3 * workers; ++step) {
      shares.stepped({step % workers});
      EXPECT_EQ(shares.factor({step % workers}), 1) << workers << " workers, step " << step;
    }
    EXPECT_EQ(shares.window() % static_cast<std::size_t>(workers), 0u);
    EXPECT_GE(shares.window(), 400u);
  }
}

TEST(Shares, FactorsMakeEverybodyCountAlike) {
  Shares shares(4);
  take_steps(shares, {6, 6, 5, 3}, 20);
  EXPECT_EQ(shares.window(), 400u);
  EXPECT_NEAR(shares.share({3}), 0.15, 1e-12);
  for (int worker = 0; worker < 4; ++worker)
    EXPECT_NEAR(shares.share({worker}) * shares.factor({worker}), 0.25, 1e-12) << worker;
}

TEST(Shares, TheMeanRateIsThatOfTheRunWhateverThePaces) {
  const std::vector<std::vector<int>> of_five = {
      {1, 1, 1, 1, 1}, {40, 1, 1, 1, 1}, {9, 8, 7, 2, 1}, {50, 40, 30, 20, 0}, {1, 0, 0, 0, 0}};
  for (const std::vector<int>& paces : of_five) {
    Shares shares(5);
    for (int rounds = 0; rounds < 300; ++rounds) {
      take_steps(shares, paces, 1);
      ASSERT_NEAR(mean_factor(shares, 5), 1, 1e-12);
    }
  }
}

TEST(Shares, NobodysRateGrowsBeyondTheLimitBeforeAllAreScaledAlike) {
  Shares shares(4);
  take_steps(shares, {33, 33, 33, 1}, 10);
  // Unbounded it would be 25. What the limit leaves unheard is made up by all alike.
  const double scale = 1 / (3. / 4 + Shares::kLargestFactor / 100);
  EXPECT_NEAR(shares.factor({3}), Shares::kLargestFactor * scale, 1e-12);
  EXPECT_NEAR(shares.factor({0}), 100. / (4 * 33) * scale, 1e-12);
}

TEST(Shares, OneThatWasNotSeenForAWindowGetsTheLargestFactor) {
  Shares shares(2);
  take_steps(shares, {1, 0}, 1000);
  EXPECT_EQ(shares.share({1}), 0);
  EXPECT_NEAR(shares.factor({0}), 1, 1e-12);
  EXPECT_NEAR(shares.factor({1}), 2 * Shares::kLargestFactor, 1e-12);
}

TEST(Shares, WhoHasLeftCountsForNothing) {
  Shares shares(3);
  take_steps(shares, {2, 2, 1}, 100);
  shares.left({0});
  shares.left({0});
  EXPECT_EQ(shares.share({0}), 0);
  EXPECT_NEAR(shares.share({1}), 2. / 3, 0.01);
  EXPECT_NEAR(shares.factor({1}), 3. / 4, 0.03);
  EXPECT_NEAR(shares.factor({2}), 3. / 2, 0.03);
  take_steps(shares, {0, 1, 1}, 1000);
  EXPECT_NEAR(shares.factor({2}), 1, 0.01);
  shares.left({1});
  EXPECT_EQ(shares.factor({2}), 1);
  EXPECT_THROW(shares.stepped({1}), LogicError);
  EXPECT_THROW(shares.factor({1}), LogicError);
}

TEST(Shares, TheLastOneKeepsItsRateEvenIfItWasNotSeen) {
  Shares shares(2);
  take_steps(shares, {1, 0}, 1000);
  shares.left({0});
  EXPECT_EQ(shares.factor({1}), 1);
}

TEST(Shares, AChangeOfPaceIsFollowedWithinTheWindow) {
  Shares shares(4);
  take_steps(shares, {5, 5, 5, 1}, 40);
  EXPECT_NEAR(shares.factor({3}), 4, 0.3);
  take_steps(shares, {1, 1, 1, 1}, static_cast<int>(shares.window()) / 4);
  for (int worker = 0; worker < 4; ++worker) EXPECT_EQ(shares.factor({worker}), 1) << worker;
}

}  // namespace
}  // namespace huddle
