#include "huddle/core/cluster.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "huddle/core/error.h"

namespace huddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Link kSlow = {.latency = 0.005, .bytes_per_second = 1e9};
constexpr Link kSlower = {.latency = 0.1, .bytes_per_second = 1e6};

Cluster racks_of_three() {
  Cluster cluster;
  cluster.workers = 6;
  cluster.workers_per_rack = 3;
  cluster.in_rack = kSlow;
  cluster.between_racks = kSlower;
  return cluster;
}

// The message with which a cluster of two racks is refused after `change`, or "" when it is
// accepted.
std::string refusal(const std::function<void(Cluster&)>& change) {
  Cluster cluster = racks_of_three();
  change(cluster);
  try {
    cluster.validate();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

void expect_refusal(const std::string& part, const std::function<void(Cluster&)>& change) {
  const std::string message = refusal(change);
  EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST(Link, IsFreeOnlyWithoutLatencyAndWithoutABound) {
  EXPECT_TRUE(Link{}.is_free());
  EXPECT_FALSE((Link{.latency = 1e-9}).is_free());
  EXPECT_FALSE((Link{.latency = 0, .bytes_per_second = 1e30}).is_free());
}

TEST(Cluster, IsOneFreeRackByDefault) {
  Cluster cluster;
  EXPECT_NO_THROW(cluster.validate());
  EXPECT_TRUE(cluster.has_free_links());
  EXPECT_EQ(cluster.racks(), 1);
  cluster.workers = 100;
  EXPECT_EQ(cluster.racks(), 1);
  EXPECT_EQ(cluster.rack_of({99}), 0);
  EXPECT_EQ(cluster.compute_time({99}, {5}, 2.5), 2.5);
}

TEST(Cluster, FillsRacksInOrder) {
  const Cluster cluster = racks_of_three();
  EXPECT_EQ(cluster.racks(), 2);
  EXPECT_EQ(cluster.rack_of({0}), 0);
  EXPECT_EQ(cluster.rack_of({2}), 0);
  EXPECT_EQ(cluster.rack_of({3}), 1);
  EXPECT_EQ(cluster.rack_of({5}), 1);
}

TEST(Cluster, ChoosesTheLinkByRack) {
  const Cluster cluster = racks_of_three();
  EXPECT_EQ(cluster.link({0}, {2}).latency, kSlow.latency);
  EXPECT_EQ(cluster.link({4}, {5}).latency, kSlow.latency);
  EXPECT_EQ(cluster.link({2}, {3}).latency, kSlower.latency);
  EXPECT_EQ(cluster.link({3}, {2}).bytes_per_second, kSlower.bytes_per_second);
}

TEST(Cluster, PrefersAnOverrideInItsDirectionOnly) {
  Cluster cluster = racks_of_three();
  cluster.links[{WorkerId{0}, WorkerId{1}}] = {.latency = 7, .bytes_per_second = 1};
  EXPECT_EQ(cluster.link({0}, {1}).latency, 7);
  EXPECT_EQ(cluster.link({1}, {0}).latency, kSlow.latency);
}

TEST(Cluster, HasFreeLinksOnlyIfNoneThatIsUsedCostsAnything) {
  Cluster cluster;
  cluster.workers = 4;
  cluster.between_racks = kSlower;
  EXPECT_TRUE(cluster.has_free_links());  // There is only one rack.
  cluster.workers_per_rack = 2;
  EXPECT_FALSE(cluster.has_free_links());
  cluster.between_racks = {};
  EXPECT_TRUE(cluster.has_free_links());
  cluster.links[{WorkerId{0}, WorkerId{1}}] = {};
  EXPECT_TRUE(cluster.has_free_links());
  cluster.links[{WorkerId{1}, WorkerId{0}}] = kSlow;
  EXPECT_FALSE(cluster.has_free_links());
  cluster.links.clear();
  cluster.in_rack = kSlow;
  EXPECT_FALSE(cluster.has_free_links());
}

TEST(Cluster, SlowsDownFromFirstToLastStepInclusive) {
  Cluster cluster = racks_of_three();
  cluster.slowdowns = {{.worker = {1}, .factor = 3, .first = {10}, .last = {20}}};
  EXPECT_EQ(cluster.compute_time({1}, {9}, 2), 2);
  EXPECT_EQ(cluster.compute_time({1}, {10}, 2), 6);
  EXPECT_EQ(cluster.compute_time({1}, {20}, 2), 6);
  EXPECT_EQ(cluster.compute_time({1}, {21}, 2), 2);
  EXPECT_EQ(cluster.compute_time({0}, {15}, 2), 2);
}

TEST(Cluster, SlowsDownForeverByDefaultAndMultipliesOverlaps) {
  Cluster cluster = racks_of_three();
  cluster.slowdowns = {{.worker = {1}, .factor = 3, .first = {}},
                       {.worker = {1}, .factor = 2, .first = {5}}};
  EXPECT_EQ(cluster.compute_time({1}, {0}, 1), 3);
  EXPECT_EQ(cluster.compute_time({1}, {1'000'000'000'000}, 1), 6);
}

TEST(Cluster, JittersEquallyWithEqualSeedsAndOnlyUpwards) {
  Cluster a = racks_of_three();
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
      EXPECT_GE(time, 1);
      differs_by_seed |= time != other.compute_time({worker}, {step}, 1);
    }
  EXPECT_TRUE(differs_by_seed);
  EXPECT_NE(a.compute_time({0}, {0}, 1), a.compute_time({1}, {0}, 1));
  EXPECT_NE(a.compute_time({0}, {0}, 1), a.compute_time({0}, {1}, 1));
}

TEST(Cluster, JittersHalfNormallyInProportionToTheWork) {
  Cluster cluster;
  cluster.jitter = 0.5;
  double sum = 0;
  constexpr int kSteps = 50'000;
  for (int step = 0; step < kSteps; ++step) {
    const Seconds one = cluster.compute_time({0}, {step}, 1);
    EXPECT_DOUBLE_EQ(cluster.compute_time({0}, {step}, 4), 4 * one);
    sum += one - 1;
  }
  // The mean of a half-normal number is its scale times sqrt(2 / pi).
  EXPECT_NEAR(sum / kSteps, 0.5 * 0.79788, 0.01);
}

TEST(Cluster, TakesNoTimeForNoWork) {
  Cluster cluster;
  cluster.jitter = 1;
  cluster.slowdowns = {{.worker = {0}, .factor = 9, .first = {}}};
  EXPECT_EQ(cluster.compute_time({0}, {0}, 0), 0);
}

TEST(ClusterValidate, AcceptsAClusterThatCanBe) {
  EXPECT_EQ(refusal([](Cluster& cluster) {
              cluster.links[{WorkerId{0}, WorkerId{5}}] = kSlow;
              cluster.compute_per_step = 0.1;
              cluster.jitter = 0.1;
              cluster.slowdowns = {{.worker = {5}, .factor = 0.5, .first = {}}};
              cluster.deaths = {{.worker = {5}, .step = {3}, .after_operations = 2}};
            }),
            "");
}

TEST(ClusterValidate, RefusesNumbersOfWorkersThatCannotBe) {
  expect_refusal("workers is 0", [](Cluster& cluster) { cluster.workers = 0; });
  expect_refusal("workers is -2", [](Cluster& cluster) { cluster.workers = -2; });
  expect_refusal("6 workers do not fill racks of 4",
                 [](Cluster& cluster) { cluster.workers_per_rack = 4; });
  expect_refusal("racks of 12", [](Cluster& cluster) { cluster.workers_per_rack = 12; });
  expect_refusal("racks of -1", [](Cluster& cluster) { cluster.workers_per_rack = -1; });
}

TEST(ClusterValidate, RefusesLinksThatCannotBe) {
  expect_refusal("inside a rack is -1", [](Cluster& cluster) { cluster.in_rack.latency = -1; });
  expect_refusal("latency of the links between racks",
                 [](Cluster& cluster) { cluster.between_racks.latency = kNan; });
  expect_refusal("inside a rack is 0 bytes/s",
                 [](Cluster& cluster) { cluster.in_rack.bytes_per_second = 0; });
  expect_refusal("bandwidth of the links between racks",
                 [](Cluster& cluster) { cluster.between_racks.bytes_per_second = kNan; });
  expect_refusal("the link from 0 to 5", [](Cluster& cluster) {
    cluster.links[{WorkerId{0}, WorkerId{5}}].latency = -1;
  });
  EXPECT_EQ(refusal([](Cluster& cluster) { cluster.in_rack.bytes_per_second = kInfinity; }), "");
}

TEST(ClusterValidate, RefusesWorkersThatDoNotExist) {
  expect_refusal("a link names worker 6, but the workers are 0 to 5", [](Cluster& cluster) {
    cluster.links[{WorkerId{0}, WorkerId{6}}] = {};
  });
  expect_refusal("a link names worker -1", [](Cluster& cluster) {
    cluster.links[{WorkerId{-1}, WorkerId{0}}] = {};
  });
  expect_refusal("a slowdown names worker 6", [](Cluster& cluster) {
    cluster.slowdowns = {{.worker = {6}, .factor = 1, .first = {}}};
  });
  expect_refusal("a death names worker 6",
                 [](Cluster& cluster) { cluster.deaths = {{.worker = {6}, .step = {}}}; });
}

TEST(ClusterValidate, RefusesTimesThatCannotBe) {
  expect_refusal("compute time per step is -1",
                 [](Cluster& cluster) { cluster.compute_per_step = -1; });
  expect_refusal("compute time per step",
                 [](Cluster& cluster) { cluster.compute_per_step = kNan; });
  expect_refusal("jitter is -0.5", [](Cluster& cluster) { cluster.jitter = -0.5; });
  expect_refusal("jitter is", [](Cluster& cluster) { cluster.jitter = kNan; });
  for (const double factor : {0.0, -1.0, kNan})
    expect_refusal("the slowdown of worker 0", [=](Cluster& cluster) {
      cluster.slowdowns = {{.worker = {0}, .factor = factor, .first = {}}};
    });
}

}  // namespace
}  // namespace huddle
