// Strategies in virtual time: the straggler tables, what is sensitive to what, the same bits as on
// threads, and faults.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "huddle/base/error.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"
#include "tests/support/in_child.h"

namespace huddle {
namespace {

constexpr Tag kTag{Kind::payload, Purpose::message, kMainLane, {}};

Cluster sixteen() {
  Cluster cluster;
  cluster.workers = 16;
  cluster.compute_per_step = 1;
  cluster.seed = 7;
  return cluster;
}

TrainOptions options_for(const Cluster& cluster, const std::string& strategy, std::int64_t steps) {
  return {.strategy = strategy,
          .workers = cluster.workers,
          .steps = steps,
          .topology = std::make_shared<const Topology>(cluster.topology),
          .compute = {cluster.compute_per_step, cluster.backward_share}};
}

// The mean time of a step, of a model of 100 MB.
Seconds step_time(const Cluster& cluster, const std::string& strategy, std::int64_t steps) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result = time_strategy(*launcher, 1e8, options_for(cluster, strategy, steps),
                                           [](const StepRecord&) {});
  if (result.error) std::rethrow_exception(result.error);
  return result.summary.seconds / static_cast<double>(steps);
}

// Section 5 of the specification: step times where only computing takes time.
struct Straggling {
  const char* strategy;
  double expected;
};

constexpr const char* kQuickBsp = "bsp:algorithm=halving_doubling,buckets=1";

class RandomStraggler : public testing::TestWithParam<Straggling> {};

TEST_P(RandomStraggler, HoldsUpItsGroupOnly) {
  Cluster cluster = sixteen();
  cluster.random_slowdown = {.workers = 1, .factor = 2};
  EXPECT_NEAR(step_time(cluster, GetParam().strategy, 1000) / GetParam().expected, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Sim, RandomStraggler,
                         testing::Values(Straggling{kQuickBsp, 2.00},
                                         Straggling{"ds_sync:form=paper,radices=4x4", 1.57},
                                         Straggling{"sesgd:form=paper", 1.38}));

class Jitter : public testing::TestWithParam<Straggling> {};

TEST_P(Jitter, CostsSmallGroupsLess) {
  Cluster cluster = sixteen();
  cluster.jitter = 0.1;
  EXPECT_NEAR(step_time(cluster, GetParam().strategy, 1000) / GetParam().expected, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Sim, Jitter,
                         testing::Values(Straggling{kQuickBsp, 1.18},
                                         Straggling{"ds_sync:form=paper,radices=4x4", 1.13},
                                         Straggling{"sesgd:form=paper", 1.09}));

TEST(Sim, APersistentlySlowWorkerSetsEverybodysPace) {
  Cluster cluster = sixteen();
  cluster.slowdowns = {{.worker = {5}, .factor = 2}};
  EXPECT_NEAR(step_time(cluster, "sesgd:form=paper", 200), 2, 0.02);
}

// What a change of the cluster does to a strategy: two simulations of one test are two processes,
// so the plain times are formulas.
Cluster racks() {
  Cluster cluster = sixteen();
  cluster.topology = in_racks({4, 4, 4, 4});
  cluster.compute_per_step = 0.01;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.topology.uplink_bytes_per_second = 5e9;
  return cluster;
}

constexpr Seconds kRowOfFour = 2 * 3. / 4 * 1e8 / 1.25e9;

TEST(SimSensitivity, AHalvedUplinkLeavesAveragesInsideRacksAlone) {
  Cluster cluster = racks();
  cluster.topology.uplink_bytes_per_second = 2.5e9;
  EXPECT_NEAR(step_time(cluster, "ds_sync:form=paper,schedule=fixed,radices=4x4", 10),
              0.01 + kRowOfFour, 1e-6);
}

TEST(SimSensitivity, AHalvedUplinkSlowsTheGridsPhaseAcrossRacks) {
  Cluster cluster = racks();
  cluster.topology.uplink_bytes_per_second =
      2.5e9;  // Four rings share it: half of what each could use.
  EXPECT_NEAR(step_time(cluster, "ds_sync:form=paper,radices=4x4", 10), 0.01 + 1.5 * kRowOfFour,
              1e-3);
}

TEST(SimSensitivity, LatencyCostsARingThirtyTimesWhatItCostsAPair) {
  Cluster cluster = sixteen();
  cluster.compute_per_step = 0.01;
  cluster.topology.latency_in_rack = 0.001;
  EXPECT_NEAR(step_time(cluster, "bsp:algorithm=ring,overlap=none,buckets=1", 10),
              0.01 + 30 * 0.001, 1e-6);
}

TEST(SimSensitivity, LatencyCostsAPairOnce) {
  Cluster cluster = sixteen();
  cluster.compute_per_step = 0.01;
  cluster.topology.latency_in_rack = 0.001;
  EXPECT_NEAR(step_time(cluster, "sesgd:form=paper", 10), 0.01 + 0.001, 1e-6);
}

TEST(SimSensitivity, BackwardHidesAnExchangeThatFitsIntoIt) {
  Cluster cluster = sixteen();
  cluster.topology.nic_bytes_per_second = 1.25e9;
  // Eight buckets of 12.5 MB in a ring of 16 take 18.75 ms each; backward of one takes 83 ms.
  EXPECT_NEAR(step_time(cluster, "bsp:buckets=8,algorithm=ring", 10), 1 + 0.01875, 1e-3);
}

TEST(SimSensitivity, TrafficThatDoesNotGiveWayTakesItsShare) {
  Cluster cluster = sixteen();
  cluster.compute_per_step = 0.01;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.background = {{.place = {Place::Kind::worker, 3}, .bytes_per_second = 0.625e9}};
  EXPECT_NEAR(step_time(cluster, "bsp:algorithm=ring,overlap=none", 10), 0.01 + 0.3, 2e-3);
}

TEST(SimSensitivity, TrafficThatGivesWayIsOneMoreFlow) {
  Cluster cluster = sixteen();
  cluster.compute_per_step = 0.01;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.background = {
      {.place = {Place::Kind::worker, 3}, .bytes_per_second = 1.25e9, .elastic = true}};
  EXPECT_NEAR(step_time(cluster, "bsp:algorithm=ring,overlap=none", 10), 0.01 + 0.3, 2e-3);
}

TEST(SimSensitivity, ALinkThatVariesCostsWhatItLacks) {
  Cluster cluster = sixteen();
  cluster.workers = 2;
  cluster.compute_per_step = 0.01;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.variations = {
      {.place = {Place::Kind::worker, 0}, .lowest = 0.5, .highest = 0.5, .every = 0.03}};
  EXPECT_NEAR(step_time(cluster, "sesgd:form=paper", 10), 0.01 + 0.16, 1e-3);
}

TEST(Sim, BytesAndBusyTimeOfLinksNameTheBottleneck) {
  Cluster cluster = racks();
  cluster.topology.uplink_bytes_per_second = 1.25e9;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  time_strategy(*launcher, 1e8, options_for(cluster, "ds_sync:form=paper,radices=4x4", 4),
                [](const StepRecord&) {});
  std::map<std::string, LinkUse> uses;
  for (const LinkUse& use : launcher->link_uses()) uses[use.name] = use;
  // Two phases of four inside racks, two across: 1.5 models a worker and phase, four workers a
  // rack.
  EXPECT_NEAR(uses.at("worker 0 out").bytes, 4 * 1.5e8, 1e3);
  EXPECT_NEAR(uses.at("rack 0 out").bytes, 2 * 4 * 1.5e8, 1e3);
  EXPECT_NEAR(uses.at("rack 0 out").busy, 2 * 4 * 1.5e8 / 1.25e9, 0.01);
}

TEST(Sim, AnUnfinishedExchangeIsAnError) {
  Cluster cluster = sixteen();
  cluster.workers = 2;
  try {
    make_sim_launcher({.cluster = cluster})->run([](Endpoint& endpoint) {
      endpoint.compute(Step{4}, 0);
      at::Tensor data = at::zeros({1});
      if (endpoint.self().value == 0) endpoint.receive(WorkerId{1}, kTag, data).wait({30});
      endpoint.compute(Step{4}, 100);
    });
    FAIL() << "nobody noticed";
  } catch (const Timeout& late) {
    EXPECT_NE(std::string(late.what()).find("worker 0, step 4: gave up after 30 s"),
              std::string::npos)
        << late.what();
  }
}

TEST(Sim, ACutLinkLosesThePeerInTheMiddleOfAMessage) {
  Cluster cluster = sixteen();
  cluster.workers = 2;
  cluster.topology.nic_bytes_per_second = 1e6;
  cluster.cuts = {{.place = {Place::Kind::worker, 1}, .time = 0.5}};
  Time noticed = 0;
  EXPECT_THROW(make_sim_launcher({.cluster = cluster})->run([&](Endpoint& endpoint) {
    at::Tensor data = at::zeros({1'000'000}, at::kByte);
    try {
      if (endpoint.self().value == 0) endpoint.send(WorkerId{1}, kTag, data).wait({30});
      if (endpoint.self().value == 1) endpoint.receive(WorkerId{0}, kTag, data).wait({30});
    } catch (const PeerLost&) {
      noticed = endpoint.now();
      throw;
    }
  }),
               PeerLost);
  EXPECT_NEAR(noticed, 0.5, 1e-9);
}

TEST(Sim, AWorkerThatDiesAtAMomentIsNoticedThere) {
  Cluster cluster = sixteen();
  cluster.deaths = {{.worker = {3}, .step = {}, .time = 4.5}};
  EXPECT_THROW(step_time(cluster, "bsp", 10), PeerLost);
}

TEST(Sim, AHaltedWorkerGoesOn) {
  Cluster cluster = sixteen();
  cluster.halts = {{.worker = {3}, .from = 2.5, .seconds = 5}};
  EXPECT_NEAR(step_time(cluster, "bsp", 10), 1.5, 1e-9);
}

TEST(Sim, EqualSeedsGiveEqualTimesToTheLastBit) {
  Cluster cluster = racks();
  cluster.jitter = 0.3;
  cluster.pauses = {{.probability = 0.2, .seconds = 0.02}};
  const auto measure = [&] {
    std::ostringstream text;
    text << std::hexfloat << step_time(cluster, "ds_sync", 50);
    return text.str();
  };
  EXPECT_EQ(alone(measure), alone(measure));
  const std::string first = alone(measure);
  cluster.seed = 8;
  EXPECT_NE(alone(measure), first);
}

}  // namespace
}  // namespace huddle
