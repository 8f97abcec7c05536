#include "huddle/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace huddle {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments moments(int count, const Draw& draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double drawn = draw();
    sum += drawn;
    squares += drawn * drawn;
  }
  const double mean = sum / count;
  return {.mean = mean, .variance = squares / count - mean * mean};
}

TEST(Random, IsSplitMix64) {
  // The published first outputs for the seeds 0 and 1234567.
  Random zero(0);
  for (const std::uint64_t expected :
       {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu})
    EXPECT_EQ(zero.bits(), expected);
  Random other(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u})
    EXPECT_EQ(other.bits(), expected);
}

TEST(Random, RepeatsWithEqualSeedsAndPurposes) {
  Random a(42, {1, 2, 3});
  Random b(42, {1, 2, 3});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

TEST(Random, HasAStreamOfItsOwnForEachSeedAndPurpose) {
  std::set<std::uint64_t> first;
  int streams = 0;
  const auto add = [&](Random random) {
    first.insert(random.bits());
    ++streams;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    add(Random(seed));
    for (std::uint64_t a = 0; a < 20; ++a) {
      add(Random(seed, {a}));
      for (std::uint64_t b = 0; b < 20; ++b) add(Random(seed, {a, b}));
    }
  }
  EXPECT_EQ(first.size(), static_cast<std::size_t>(streams));
}

TEST(Random, StaysUniformAcrossStreamsOfNeighbouringPurposes) {
  // Schedules take the first number of the stream of (worker, step): those must be as good as one
  // stream.
  std::uint64_t step = 0;
  const Moments seen = moments(100'000, [&] { return Random(7, {3, step++}).uniform(); });
  EXPECT_NEAR(seen.mean, 0.5, 0.005);
  EXPECT_NEAR(seen.variance, 1.0 / 12, 0.002);
}

TEST(Random, DrawsUniformNumbersBelowOne) {
  Random random(1);
  double smallest = 1;
  double largest = 0;
  const Moments seen = moments(100'000, [&] {
    const double drawn = random.uniform();
    smallest = std::min(smallest, drawn);
    largest = std::max(largest, drawn);
    return drawn;
  });
  EXPECT_GE(smallest, 0);
  EXPECT_LT(smallest, 0.001);
  EXPECT_LT(largest, 1);
  EXPECT_GT(largest, 0.999);
  EXPECT_NEAR(seen.mean, 0.5, 0.005);
  EXPECT_NEAR(seen.variance, 1.0 / 12, 0.002);
}

TEST(Random, DrawsEachNumberBelowABoundEquallyOften) {
  constexpr int kDraws = 60'000;
  for (const std::uint64_t bound : {2u, 3u, 7u, 10u, 64u}) {
    Random random(5, {bound});
    std::vector<int> counts(bound, 0);
    for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(bound));
    double chi_square = 0;
    const double expected = static_cast<double>(kDraws) / static_cast<double>(bound);
    for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
    // Chi-square has mean bound-1 and variance 2(bound-1); five deviations above the mean do not
    // happen by chance.
    const double freedom = static_cast<double>(bound - 1);
    EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom)) << bound;
  }
}

TEST(Random, DrawsOnlyZeroBelowOne) {
  Random random(5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

TEST(Random, DrawsBelowHugeBoundsWithoutBias) {
  // Without rejection a bound of 3/4 of the range would fall into its lowest third twice as often
  // as into the others.
  constexpr std::uint64_t kBound = 3ULL << 62;
  Random random(9);
  int lowest_third = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t drawn = random.below(kBound);
    ASSERT_LT(drawn, kBound);
    lowest_third += drawn < kBound / 3 ? 1 : 0;
  }
  EXPECT_NEAR(lowest_third, 10'000, 500);
  EXPECT_LT(Random(9).below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(Random, DrawsNormalNumbers) {
  Random random(3);
  int within_one = 0;
  const Moments seen = moments(100'000, [&] {
    const double drawn = random.normal();
    EXPECT_TRUE(std::isfinite(drawn));
    within_one += std::abs(drawn) < 1 ? 1 : 0;
    return drawn;
  });
  EXPECT_NEAR(seen.mean, 0, 0.02);
  EXPECT_NEAR(seen.variance, 1, 0.03);
  EXPECT_NEAR(within_one / 1e5, 0.6827, 0.01);
}

TEST(Random, DrawsGammaNumbersOfEveryShape) {
  for (const double shape : {0.1, 0.5, 0.99, 1.0, 2.5, 30.0}) {
    Random random(4);
    const Moments seen = moments(100'000, [&] {
      const double drawn = random.gamma(shape);
      EXPECT_GE(drawn, 0);
      return drawn;
    });
    // Mean and variance of Gamma(shape, 1) are both `shape`.
    EXPECT_NEAR(seen.mean, shape, 5 * std::sqrt(shape / 1e5)) << shape;
    EXPECT_NEAR(seen.variance, shape, 0.1 * shape) << shape;
  }
}

TEST(Random, ShufflesWithoutLosingAnything) {
  for (const int size : {0, 1, 2, 7, 100}) {
    std::vector<int> items(static_cast<std::size_t>(size));
    std::iota(items.begin(), items.end(), 0);
    const std::vector<int> sorted = items;
    Random(6).shuffle(items);
    if (size > 2) {
      EXPECT_NE(items, sorted) << size;
    }
    std::sort(items.begin(), items.end());
    EXPECT_EQ(items, sorted);
  }
}

TEST(Random, ShufflesIntoEveryOrderEquallyOften) {
  std::vector<int> counts(6, 0);
  Random random(8);
  for (int i = 0; i < 60'000; ++i) {
    std::vector<int> items = {0, 1, 2};
    random.shuffle(items);
    ++counts[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, ShufflesEquallyWithEqualSeeds) {
  std::vector<int> a(50);
  std::iota(a.begin(), a.end(), 0);
  std::vector<int> b = a;
  std::vector<int> c = a;
  Random(1).shuffle(a);
  Random(1).shuffle(b);
  Random(2).shuffle(c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

}  // namespace
}  // namespace huddle
