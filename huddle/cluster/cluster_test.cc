#include "huddle/cluster/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

Cluster two_racks() {
  Cluster cluster;
  cluster.workers = 6;
  cluster.topology = in_racks({3, 3});
  cluster.compute_per_step = 0.5;
  return cluster;
}

TEST(Link, IsFreeOnlyWithoutLatencyAndWithoutABound) {
  EXPECT_TRUE(Link{}.is_free());
  EXPECT_FALSE((Link{.latency = 1e-9}).is_free());
  EXPECT_FALSE((Link{.latency = 0, .bytes_per_second = 1e30}).is_free());
}

TEST(Place, HasAName) {
  EXPECT_EQ(to_string(Place{Place::Kind::worker, 3}), "worker 3");
  EXPECT_EQ(to_string(Place{Place::Kind::rack, 0}), "rack 0");
}

TEST(Cluster, CostsNothingByDefault) {
  Cluster cluster;
  EXPECT_NO_THROW(cluster.validate());
  cluster.workers = 100;
  EXPECT_EQ(cluster.compute_time({99}, {5}, 2.5), 2.5);
  EXPECT_EQ(cluster.with_halts({99}, 5, 2.5), 2.5);
}

TEST(Cluster, SlowsDownFromFirstToLastStepInclusive) {
  Cluster cluster = two_racks();
  cluster.slowdowns = {{.worker = {1}, .factor = 3, .first = {10}, .last = {20}}};
  EXPECT_EQ(cluster.compute_time({1}, {9}, 2), 2);
  EXPECT_EQ(cluster.compute_time({1}, {10}, 2), 6);
  EXPECT_EQ(cluster.compute_time({1}, {20}, 2), 6);
  EXPECT_EQ(cluster.compute_time({1}, {21}, 2), 2);
  EXPECT_EQ(cluster.compute_time({0}, {15}, 2), 2);
}

TEST(Cluster, SlowsDownForeverByDefaultAndMultipliesOverlaps) {
  Cluster cluster = two_racks();
  cluster.slowdowns = {{.worker = {1}, .factor = 3, .first = {}},
                       {.worker = {1}, .factor = 2, .first = {5}}};
  EXPECT_EQ(cluster.compute_time({1}, {0}, 1), 3);
  EXPECT_EQ(cluster.compute_time({1}, {1'000'000'000'000}, 1), 6);
}

// Which of the workers take longer at a step.
std::set<int> slow_ones(const Cluster& cluster, Step step) {
  std::set<int> slow;
  for (int worker = 0; worker < cluster.workers; ++worker) {
    const Seconds time = cluster.compute_time({worker}, step, 1);
    if (time == cluster.random_slowdown.factor)
      slow.insert(worker);
    else
      EXPECT_EQ(time, 1);
  }
  return slow;
}

TEST(Cluster, SlowsDownExactlyAsManyWorkersAsAskedAtEveryStep) {
  for (const int count : {0, 1, 2, 5, 6}) {
    Cluster cluster = two_racks();
    cluster.random_slowdown = {.workers = count, .factor = 4};
    for (int step = 0; step < 100; ++step)
      EXPECT_EQ(slow_ones(cluster, {step}).size(), static_cast<std::size_t>(count));
  }
}

TEST(Cluster, DrawsTheSlowWorkersAnewAndEvenly) {
  Cluster cluster = two_racks();
  cluster.random_slowdown = {.workers = 2, .factor = 4};
  std::vector<int> hits(6);
  std::set<std::set<int>> pairs;
  constexpr int kSteps = 6'000;
  for (int step = 0; step < kSteps; ++step) {
    const std::set<int> slow = slow_ones(cluster, {step});
    for (const int worker : slow) ++hits[static_cast<std::size_t>(worker)];
    pairs.insert(slow);
  }
  EXPECT_EQ(pairs.size(), 15u);
  for (const int count : hits) EXPECT_NEAR(count, kSteps / 3, 150);  // 4 standard deviations.
}

TEST(Cluster, JittersEquallyWithEqualSeeds) {
  Cluster a = two_racks();
  a.jitter = 0.2;
  a.seed = 1;
  const Cluster b = a;
  Cluster other = a;
  other.seed = 2;
  bool differs_by_seed = false;
  for (int worker = 0; worker < 6; ++worker)
    for (int step = 0; step < 50; ++step) {
      const Seconds time = a.compute_time({worker}, {step}, 1);
      EXPECT_EQ(time, b.compute_time({worker}, {step}, 1));
      differs_by_seed |= time != other.compute_time({worker}, {step}, 1);
    }
  EXPECT_TRUE(differs_by_seed);
  EXPECT_NE(a.compute_time({0}, {0}, 1), a.compute_time({1}, {0}, 1));
  EXPECT_NE(a.compute_time({0}, {0}, 1), a.compute_time({0}, {1}, 1));
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double least = kForever;
};

Moments of_compute_time(const Cluster& cluster) {
  constexpr int kSteps = 50'000;
  double sum = 0;
  double squares = 0;
  Moments moments;
  for (int step = 0; step < kSteps; ++step) {
    const Seconds time = cluster.compute_time({0}, {step}, 1);
    sum += time;
    squares += time * time;
    moments.least = std::min(moments.least, time);
  }
  moments.mean = sum / kSteps;
  moments.deviation = std::sqrt(squares / kSteps - moments.mean * moments.mean);
  return moments;
}

TEST(Cluster, JittersNormallyAroundTheComputeTime) {
  Cluster cluster;
  cluster.jitter = 0.1;
  const Moments moments = of_compute_time(cluster);
  EXPECT_NEAR(moments.mean, 1, 0.003);
  EXPECT_NEAR(moments.deviation, 0.1, 0.003);
  EXPECT_LT(moments.least, 0.75);
}

TEST(Cluster, JittersOnlyUpwardsWhenHalfNormal) {
  Cluster cluster;
  cluster.jitter = 0.5;
  cluster.jitter_kind = Cluster::Jitter::half_normal;
  const Moments moments = of_compute_time(cluster);
  // The mean of a half-normal number is its scale times sqrt(2 / pi).
  EXPECT_NEAR(moments.mean, 1 + 0.5 * 0.79788, 0.01);
  EXPECT_GE(moments.least, 1);
}

TEST(Cluster, NeverJittersDownToNothing) {
  Cluster cluster;
  cluster.jitter = 3;
  EXPECT_EQ(of_compute_time(cluster).least, 0.05);
}

TEST(Cluster, WandersByItsAmplitudeInItsPeriodFromAStartOfEachWorker) {
  Cluster cluster = two_racks();
  cluster.wander = {.amplitude = 0.25, .period_steps = 40};
  double least = kForever;
  double most = 0;
  double sum = 0;
  for (int step = 0; step < 40; ++step) {
    const Seconds time = cluster.compute_time({2}, {step}, 1);
    EXPECT_NEAR(time, cluster.compute_time({2}, {step + 40}, 1), 1e-12);
    EXPECT_NEAR(time - 1, 1 - cluster.compute_time({2}, {step + 20}, 1), 1e-12);
    least = std::min(least, time);
    most = std::max(most, time);
    sum += time;
  }
  EXPECT_NEAR(least, 0.75, 0.001);
  EXPECT_NEAR(most, 1.25, 0.001);
  EXPECT_NEAR(sum / 40, 1, 1e-12);
  EXPECT_NE(cluster.compute_time({2}, {0}, 1), cluster.compute_time({3}, {0}, 1));
}

TEST(Cluster, PausesAsOftenAsItsProbabilitySays) {
  Cluster cluster = two_racks();
  cluster.pauses = {{.probability = 0.1, .seconds = 3}};
  int pauses = 0;
  constexpr int kSteps = 20'000;
  for (int step = 0; step < kSteps; ++step) {
    const Seconds time = cluster.compute_time({4}, {step}, cluster.compute_per_step);
    if (time > 1)
      EXPECT_DOUBLE_EQ(time, 3.5);
    else
      EXPECT_EQ(time, 0.5);
    pauses += time > 1;
  }
  EXPECT_NEAR(pauses, kSteps / 10, 170);  // 4 standard deviations.
}

TEST(Cluster, PausesOnceInAStepHoweverItIsCut) {
  Cluster cluster = two_racks();
  cluster.pauses = {{.probability = 1, .seconds = 3}};
  cluster.slowdowns = {{.worker = {1}, .factor = 2, .first = {}}};
  Seconds sum = 0;
  for (const double part : {0.5, 0.125, 0.375})
    sum += cluster.compute_time({1}, {7}, part * cluster.compute_per_step);
  EXPECT_DOUBLE_EQ(sum, 2 * 0.5 + 3);  // A slow worker does not rest for longer.
}

TEST(Cluster, PausesOneWorkerAloneAndAddsUpSeveralPauses) {
  Cluster cluster = two_racks();
  cluster.pauses = {{.probability = 1, .seconds = 3, .worker = WorkerId{1}},
                    {.probability = 1, .seconds = 4}};
  EXPECT_DOUBLE_EQ(cluster.compute_time({0}, {0}, 0.5), 4.5);
  EXPECT_DOUBLE_EQ(cluster.compute_time({1}, {0}, 0.5), 7.5);
}

TEST(Cluster, DrawsPausesOfWorkersAndOfRulesIndependently) {
  Cluster cluster = two_racks();
  cluster.pauses = {{.probability = 0.5, .seconds = 1}, {.probability = 0.5, .seconds = 2}};
  std::set<long> sums;
  bool workers_differ = false;
  for (int step = 0; step < 100; ++step) {
    const Seconds rest = cluster.compute_time({0}, {step}, 0.5) - 0.5;
    sums.insert(std::lround(rest));
    workers_differ |= rest != cluster.compute_time({1}, {step}, 0.5) - 0.5;
  }
  EXPECT_EQ(sums, (std::set<long>{0, 1, 2, 3}));
  EXPECT_TRUE(workers_differ);
}

TEST(Cluster, IsLinearInTheWork) {
  Cluster cluster = two_racks();
  cluster.jitter = 0.3;
  cluster.wander = {.amplitude = 0.5, .period_steps = 10};
  cluster.random_slowdown = {.workers = 3, .factor = 2};
  cluster.pauses = {{.probability = 0.5, .seconds = 1}};
  for (int step = 0; step < 50; ++step) {
    const Seconds one = cluster.compute_time({0}, {step}, 1);
    EXPECT_DOUBLE_EQ(cluster.compute_time({0}, {step}, 4), 4 * one);
    EXPECT_EQ(cluster.compute_time({0}, {step}, 0), 0);
  }
}

TEST(Cluster, ComputesFastEnoughForAThousandWorkers) {
  Cluster cluster;
  cluster.workers = 1024;
  cluster.compute_per_step = 1;
  cluster.jitter = 0.1;
  cluster.random_slowdown = {.workers = 1, .factor = 2};
  cluster.pauses = {{.probability = 0.1, .seconds = 1}};
  const auto begin = std::chrono::steady_clock::now();
  Seconds sum = 0;
  for (int step = 0; step < 100; ++step)
    for (int worker = 0; worker < 1024; ++worker) sum += cluster.compute_time({worker}, {step}, 1);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(sum, 100 * 1024 * 0.9);
  EXPECT_LT(passed.count(), 2);  // Takes some 0.02 s; far more means a cost that grows.
}

TEST(ClusterHalts, StopTheWorkThatTheyInterrupt) {
  Cluster cluster = two_racks();
  cluster.halts = {{.worker = {1}, .from = 10, .seconds = 5}};
  EXPECT_EQ(cluster.with_halts({1}, 0, 3), 3);
  EXPECT_EQ(cluster.with_halts({1}, 8, 3), 8);
  EXPECT_EQ(cluster.with_halts({1}, 15, 3), 3);
  EXPECT_EQ(cluster.with_halts({0}, 8, 3), 3);
}

TEST(ClusterHalts, HoldBackWorkThatWouldBeginInThem) {
  Cluster cluster = two_racks();
  cluster.halts = {{.worker = {1}, .from = 10, .seconds = 5}};
  EXPECT_EQ(cluster.with_halts({1}, 10, 3), 8);
  EXPECT_EQ(cluster.with_halts({1}, 14, 3), 4);
  EXPECT_EQ(cluster.with_halts({1}, 12, 0), 3);
  EXPECT_EQ(cluster.with_halts({1}, 15, 0), 0);
}

TEST(ClusterHalts, DoNotTouchWorkThatEndsAsTheyBegin) {
  Cluster cluster = two_racks();
  cluster.halts = {{.worker = {1}, .from = 10, .seconds = 5}};
  EXPECT_EQ(cluster.with_halts({1}, 8, 2), 2);
}

TEST(ClusterHalts, AddUpInWhateverOrderTheyAreGivenAndCountOverlapsOnce) {
  Cluster cluster = two_racks();
  cluster.halts = {{.worker = {1}, .from = 20, .seconds = 5},
                   {.worker = {1}, .from = 10, .seconds = 6},
                   {.worker = {1}, .from = 12, .seconds = 2},
                   {.worker = {1}, .from = 14, .seconds = 3},
                   {.worker = {0}, .from = 0, .seconds = 1000}};
  // Works 9..10, 17..20 and 25..26; stands still for 7 and 5 seconds.
  EXPECT_EQ(cluster.with_halts({1}, 9, 5), 5 + 12);
  EXPECT_EQ(cluster.with_halts({1}, 9, 4), 4 + 7);
}

TEST(Cluster, RefusesWithAllProblemsAtOnce) {
  Cluster cluster = two_racks();
  cluster.jitter = -1;
  cluster.topology.latency_in_rack = -2;
  ASSERT_EQ(cluster.problems().size(), 2u);
  try {
    cluster.validate();
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "the latency inside a rack is -2 s; it must be from 0 to 1e+09 s.\n"
                 "the jitter is -1; it must be from 0 to 100.");
  }
}

}  // namespace
}  // namespace huddle
