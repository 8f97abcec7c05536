#include "huddle/cluster/cost.h"

#include <gtest/gtest.h>

#include <limits>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr double kTolerance = 1e-12;

void expect_close(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual, expected, kTolerance * expected);
}

// 16 workers at 10 Gb/s and 1 ms, 102.4 MB in 4 buckets.
const FlatNetwork kFlat{.workers = 16, .link = {.latency = 0.001, .bytes_per_second = 1.25e9}};
const Payload kFourBuckets{.bytes = 102.4e6, .buckets = 4};

// 4 racks of 4 behind uplinks that carry an eighth of what their workers could send.
const RackNetwork kRacks{.racks = 4,
                         .per_rack = 4,
                         .latency = 0.0001,
                         .nic_bytes_per_second = 1.25e9,
                         .uplink_bytes_per_second = 0.625e9};
const Payload kHundredMegabytes{.bytes = 100e6, .buckets = 4};

TEST(Cost, RingPaysTwoStepsPerOtherWorkerAndBucket) {
  // 4 * 30 ms of latency and 15/8 of 81.92 ms.
  expect_close(ring_seconds(kFlat, kFourBuckets), 0.12 + 0.1536);
}

TEST(Cost, PairMovesTheBytesOfARingOfTwoForHalfTheLatency) {
  FlatNetwork two = kFlat;
  two.workers = 2;
  expect_close(pair_seconds(two, kFourBuckets), 0.004 + 0.08192);
  expect_close(ring_seconds(two, kFourBuckets) - pair_seconds(two, kFourBuckets), 0.004);
}

TEST(Cost, HalvingAndDoublingPaysTwoLatenciesPerLevelAndDirectTwoInAll) {
  expect_close(halving_doubling_seconds(kFlat, kFourBuckets), 0.032 + 0.1536);
  expect_close(direct_seconds(kFlat, kFourBuckets), 0.008 + 0.1536);
  // 11 workers: 8 of them average, after and before three have moved everything once.
  expect_close(halving_doubling_seconds({.workers = 11, .link = kFlat.link}, kFourBuckets),
               4 * 0.006 + 1.75 * 0.08192 + 4 * 0.002 + 2 * 0.08192);
}

TEST(Cost, LonelyWorkerPaysNothing) {
  EXPECT_EQ(ring_seconds({.workers = 1, .link = kFlat.link}, kFourBuckets), 0);
  EXPECT_EQ(halving_doubling_seconds({.workers = 1, .link = kFlat.link}, kFourBuckets), 0);
  EXPECT_EQ(direct_seconds({.workers = 1, .link = kFlat.link}, kFourBuckets), 0);
}

TEST(Cost, FreeNetworkCostsNothing) {
  EXPECT_EQ(ring_seconds(FlatNetwork{.workers = 7}, kFourBuckets), 0);
  EXPECT_EQ(sharded_seconds(RackNetwork{}, kFourBuckets), 0);
}

TEST(Cost, RingOverRacksIsBoundByTheirUplinks) {
  expect_close(ring_seconds(kRacks, kHundredMegabytes), 0.012 + 0.3);
  // Four hops share each uplink.
  expect_close(scattered_ring_seconds(kRacks, kHundredMegabytes), 0.012 + 1.2);
}

TEST(Cost, HierarchiesWalkTwelveHopsOnFourRacksOfFour) {
  expect_close(leader_seconds(kRacks, kHundredMegabytes), 0.0048 + 0.16 + 0.24);
  expect_close(sharded_seconds(kRacks, kHundredMegabytes), 0.0048 + 0.12 + 0.24);
}

TEST(Cost, ShardsUseAllConnectionsOfARackAtOnce) {
  RackNetwork wide = kRacks;
  wide.latency = 0;
  wide.uplink_bytes_per_second = 100e9;  // The four connections of 1.25 GB/s bind instead.
  expect_close(sharded_seconds(wide, kHundredMegabytes), 0.12 + 0.03);
  expect_close(leader_seconds(wide, kHundredMegabytes), 0.16 + 0.12);
}

TEST(Cost, GridAlternatesCheapRowsAndDearColumns) {
  expect_close(grid_row_seconds(kRacks, kHundredMegabytes), 0.1224);
  expect_close(grid_column_seconds(kRacks, kHundredMegabytes), 0.9624);
  expect_close(grid_mean_seconds(kRacks, kHundredMegabytes), 0.5424);
}

TEST(Cost, RepresentativeTakesAsLongAsItsSlowerHalf) {
  expect_close(representative_seconds(kRacks, kHundredMegabytes), 0.2424);  // The uplinks.
  RackNetwork wide = kRacks;
  wide.latency = 0;
  wide.per_rack = 16;
  wide.uplink_bytes_per_second = 10e9;
  expect_close(representative_seconds(wide, kHundredMegabytes), 0.08 * 28 / 15);  // The 15 others.
}

TEST(Cost, RepresentativeOfRacksOfTwoLeavesNobodyToAverageInside) {
  RackNetwork small = kRacks;
  small.per_rack = 2;
  expect_close(representative_seconds(small, kHundredMegabytes), 0.2424);
}

TEST(Cost, EmptyPayloadStillPaysLatency) {
  expect_close(pair_seconds(kFlat, {.bytes = 0, .buckets = 1}), 0.001);
}

TEST(Cost, RefusesWhatCannotBe) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ring_seconds({.workers = 0, .link = {}}, kFourBuckets), UsageError);
  EXPECT_THROW(pair_seconds(kFlat, {.bytes = -1, .buckets = 1}), UsageError);
  EXPECT_THROW(pair_seconds(kFlat, {.bytes = nan, .buckets = 1}), UsageError);
  EXPECT_THROW(pair_seconds(kFlat, {.bytes = 1, .buckets = 0}), UsageError);
  EXPECT_THROW(
      ring_seconds({.workers = 2, .link = {.latency = -1, .bytes_per_second = 1}}, kFourBuckets),
      UsageError);
  EXPECT_THROW(leader_seconds({.racks = 1}, kFourBuckets), UsageError);
  EXPECT_THROW(representative_seconds({.per_rack = 1}, kFourBuckets), UsageError);
  EXPECT_THROW(grid_row_seconds({.uplink_bytes_per_second = 0}, kFourBuckets), UsageError);
}

}  // namespace
}  // namespace huddle
