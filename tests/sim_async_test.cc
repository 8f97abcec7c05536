// Strategies without barriers in virtual time: whom a slow worker holds up, what servers cost, how
// a run ends, and what a loss does.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"

namespace huddle {
namespace {

Cluster eight() {
  Cluster cluster;
  cluster.workers = 8;
  cluster.compute_per_step = 1;
  cluster.seed = 3;
  return cluster;
}

struct Timed {
  TrainResult result;
  std::map<int, std::int64_t> steps;  // By worker.
  std::map<int, Seconds> blocked;     // By worker: wait and exchange.
};

Timed time_on(const Cluster& cluster, const std::string& strategy, std::int64_t steps,
              Deadline deadline = {}) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  Timed timed;
  timed.result = time_strategy(*launcher, 1e8,
                               {.strategy = strategy,
                                .workers = cluster.workers,
                                .steps = steps,
                                .compute = {cluster.compute_per_step, cluster.backward_share},
                                .deadline = deadline},
                               [&](const StepRecord& record) {
                                 ++timed.steps[record.worker.value];
                                 timed.blocked[record.worker.value] +=
                                     record.time.wait + record.time.exchange;
                               });
  return timed;
}

// Worker steps per second.
double rate(const Cluster& cluster, const std::string& strategy, std::int64_t steps = 200) {
  const Timed timed = time_on(cluster, strategy, steps);
  if (timed.result.error) std::rethrow_exception(timed.result.error);
  return static_cast<double>(timed.result.summary.steps_taken) / timed.result.summary.seconds;
}

// Section 11 of the specification, last column and bsp's: free links, c = 1.
struct Throughput {
  const char* strategy;
  double one_slow;    // One worker takes twice as long.
  double two_slower;  // Two take three times as long.
};

class OfEight : public testing::TestWithParam<Throughput> {};

TEST_P(OfEight, OneIsTwiceAsSlow) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {5}, .factor = 2}};
  EXPECT_NEAR(rate(cluster, GetParam().strategy) / GetParam().one_slow, 1, 0.03);
}

TEST_P(OfEight, TwoAreThreeTimesAsSlow) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {2}, .factor = 3}, {.worker = {5}, .factor = 3}};
  EXPECT_NEAR(rate(cluster, GetParam().strategy) / GetParam().two_slower, 1, 0.03);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, OfEight,
                         testing::Values(Throughput{"asp", 7.5, 20. / 3},
                                         Throughput{"asp:delay_scaled=on", 7.5, 20. / 3},
                                         Throughput{"ad_psgd", 7.5, 20. / 3},
                                         Throughput{"eager:mode=solo", 7.5, 20. / 3},
                                         Throughput{"ssp", 4, 8. / 3},
                                         Throughput{"ssp:bound=0", 4, 8. / 3},
                                         Throughput{"random_groups", 4, 8. / 3}));

// A round waits for its initiator, and that is the slow worker now and then.
TEST(SimAsync, EagerWithAMajorityIsHeldUpByASlowInitiatorOnly) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {5}, .factor = 2}};
  const double steps_per_second = rate(cluster, "eager");
  EXPECT_GT(steps_per_second, 5);
  EXPECT_LT(steps_per_second, 7.4);
}

TEST(SimAsync, EagerStopsWithTheRoundThatCompletesTheBudget) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {5}, .factor = 4}};
  const Timed timed = time_on(cluster, "eager", 50);
  ASSERT_FALSE(timed.result.error);
  EXPECT_GE(timed.result.summary.steps_taken, 400);
  EXPECT_LE(timed.result.summary.steps_taken, 400 + 8);
}

class TheBudget : public testing::TestWithParam<const char*> {};

TEST_P(TheBudget, IsTakenExactlyAndFastWorkersTakeMoreOfIt) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {5}, .factor = 4}};
  const Timed timed = time_on(cluster, GetParam(), 50);
  ASSERT_FALSE(timed.result.error);
  EXPECT_EQ(timed.result.summary.steps_taken, 8 * 50);
  EXPECT_NEAR(static_cast<double>(timed.steps.at(5)), 400 / 7.25 / 4, 2);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, TheBudget, testing::Values("asp", "ad_psgd"));

class AStep : public testing::TestWithParam<const char*> {};

// Services hear of nobody while all compute.
TEST_P(AStep, MayTakeLongerThanTheDeadline) {
  Cluster cluster = eight();
  cluster.compute_per_step = 1000;
  const Timed timed = time_on(cluster, GetParam(), 3, {400});
  if (timed.result.error) std::rethrow_exception(timed.result.error);
  EXPECT_EQ(timed.result.summary.steps_taken, 8 * 3);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, AStep,
                         testing::Values("asp", "ssp", "ad_psgd", "eager", "eager:mode=solo"));

// Worker 0 asks for an average and goes away.
TEST(SimAsync, APassiveAdPsgdWorkerNoticesThatItsServiceFailed) {
  Cluster cluster = eight();
  cluster.workers = 2;
  std::int64_t steps = 0;
  const auto run = [&](Endpoint& endpoint) {
    if (endpoint.self().value == 0) {
      const Tag request{Kind::control, Purpose::request, kPairLane, {}};
      endpoint.send({1}, request, at::zeros({2}, at::kDouble));
      endpoint.compute({}, 100);
      return;
    }
    Replica replica(at::zeros({4}), at::zeros({4}), at::zeros({0}), {4}, UpdateRule({}));
    StepLoop loop(endpoint, replica, "ad_psgd",
                  {.averaging = {.deadline = {2}}, .compute = {.per_step = 1}});
    for (int step = 0; step < 50; ++step) {
      loop.begin();
      loop.replay_backward();
      loop.end();
      ++steps;
    }
  };
  EXPECT_THROW(make_sim_launcher({.cluster = cluster})->run(run), Timeout);
  EXPECT_LE(steps, 3);
}

class ALoss : public testing::TestWithParam<std::tuple<const char*, double>> {};

TEST_P(ALoss, IsNamedAndHoldsUpNobody) {
  const auto& [strategy, time] = GetParam();
  Cluster cluster = eight();
  cluster.topology.nic_bytes_per_second = 1e9;  // Exchanges take time, so that a death can hit one.
  cluster.deaths = {{.worker = {3}, .step = {}, .time = time}};
  const Timed timed = time_on(cluster, strategy, 20);
  if (timed.result.error) std::rethrow_exception(timed.result.error);
  ASSERT_EQ(timed.result.summary.lost.size(), 1u);
  EXPECT_NE(timed.result.summary.lost[0].find("worker 3"), std::string::npos);
  EXPECT_GE(timed.result.summary.steps_taken, 8 * 20 - 2);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, ALoss,
                         testing::Combine(testing::Values("ad_psgd"),
                                          testing::Values(2.5, 5.05, 7.12, 10.31, 11.73)));

class AServersLoss : public testing::TestWithParam<std::tuple<const char*, int, double>> {};

// Whoever is lost, in the middle of a step or of an exchange: its part of the model is gone.
TEST_P(AServersLoss, EndsTheRunAndNamesWhoHeldWhat) {
  const auto& [strategy, worker, time] = GetParam();
  Cluster cluster = eight();
  cluster.topology.nic_bytes_per_second = 1e9;
  cluster.deaths = {{.worker = {worker}, .step = {}, .time = time}};
  const Timed timed = time_on(cluster, strategy, 20);
  ASSERT_TRUE(timed.result.error);
  try {
    std::rethrow_exception(timed.result.error);
  } catch (const PeerLost& lost) {
    const std::string text = lost.what();
    EXPECT_EQ(lost.peer(), WorkerId{worker}) << text;
    EXPECT_NE(text.find("worker " + std::to_string(worker) + " died"), std::string::npos) << text;
    EXPECT_NE(text.find("held 3125000 of the 25000000 parameters"), std::string::npos) << text;
  }
  EXPECT_LT(timed.result.summary.seconds, time + 3) << "nobody waited for a deadline";
}

INSTANTIATE_TEST_SUITE_P(SimAsync, AServersLoss,
                         testing::Combine(testing::Values("asp", "ssp", "ssp:bound=0"),
                                          testing::Values(0, 3), testing::Values(2.5, 5.8, 6.01)));

class ACollectivesLoss : public testing::TestWithParam<const char*> {};

TEST_P(ACollectivesLoss, EndsTheRunAndIsNamed) {
  Cluster cluster = eight();
  cluster.deaths = {{.worker = {3}, .step = {}, .time = 5.5}};
  const Timed timed = time_on(cluster, GetParam(), 20);
  ASSERT_TRUE(timed.result.error);
  EXPECT_THROW(std::rethrow_exception(timed.result.error), PeerLost);
  EXPECT_LT(timed.result.summary.seconds, 8) << "nobody waited for a deadline";
}

INSTANTIATE_TEST_SUITE_P(SimAsync, ACollectivesLoss,
                         testing::Values("eager", "eager:mode=solo", "random_groups"));

TEST(SimAsync, TheLossOfAdPsgdsCounterEndsTheRunAndIsNamed) {
  Cluster cluster = eight();
  cluster.deaths = {{.worker = {0}, .step = {}, .time = 5.5}};
  const Timed timed = time_on(cluster, "ad_psgd", 20);
  ASSERT_TRUE(timed.result.error);
  try {
    std::rethrow_exception(timed.result.error);
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.peer(), WorkerId{0}) << lost.what();
    EXPECT_NE(std::string(lost.what()).find("worker 0 died"), std::string::npos) << lost.what();
  }
}

// Equal workers: everybody sends and receives at once, all but its own slice, there and back.
Seconds exchange_time(const Cluster& cluster) {
  const double share = static_cast<double>(cluster.workers - 1) / cluster.workers;
  return 2 *
         (share * 1e8 / cluster.topology.nic_bytes_per_second + cluster.topology.latency_in_rack);
}

class OfEqualWorkers : public testing::TestWithParam<std::tuple<const char*, int>> {};

// The network is the bottleneck, so whoever reached the model for less would take more steps.
TEST_P(OfEqualWorkers, EachTakesItsShareInTheTimeOfTheClosedForm) {
  const auto& [strategy, workers] = GetParam();
  Cluster cluster = eight();
  cluster.workers = workers;
  cluster.compute_per_step = 0.01;
  cluster.topology.nic_bytes_per_second = 1e9;
  cluster.topology.latency_in_rack = 0.002;
  const std::int64_t steps = 30;
  const Timed timed = time_on(cluster, strategy, steps);
  if (timed.result.error) std::rethrow_exception(timed.result.error);
  const Seconds exchange = exchange_time(cluster);
  for (const auto& [worker, taken] : timed.steps) {
    EXPECT_EQ(taken, steps) << worker;
    EXPECT_NEAR(timed.blocked.at(worker) / (exchange * static_cast<double>(taken)), 1, 0.001)
        << worker;
  }
  // In the end everybody says so and gets the final model.
  EXPECT_NEAR(timed.result.summary.seconds / ((0.01 + exchange) * steps + exchange / 2), 1, 0.001);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, OfEqualWorkers,
                         testing::Combine(testing::Values("asp:buckets=1", "ssp:buckets=1",
                                                          "ssp:bound=0,buckets=1"),
                                          testing::Values(2, 3, 8)));

TEST(SimAsync, EqualWorkersThatAreNotInStepTakeNearlyEqualShares) {
  Cluster cluster = eight();
  cluster.compute_per_step = 0.05;
  cluster.jitter = 0.3;
  cluster.topology.nic_bytes_per_second = 1e9;
  const Timed timed = time_on(cluster, "asp", 50);
  for (const auto& [worker, taken] : timed.steps)
    EXPECT_NEAR(static_cast<double>(taken), 50, 3) << worker;
}

// Gradients of all but the own slice, and parameters of the own slice to all others. The final
// model is half a step's worth.
class WhatAWorkerSends : public testing::TestWithParam<const char*> {};

TEST_P(WhatAWorkerSends, IsWhatARingWouldSend) {
  Cluster cluster = eight();
  cluster.jitter = 0.3;
  cluster.topology.nic_bytes_per_second = 1e9;
  const Timed timed = time_on(cluster, GetParam(), 20);
  EXPECT_NEAR(timed.result.summary.bytes_sent_per_worker / (2 * 1e8 * 7 / 8 * 20.5), 1, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(SimAsync, WhatAWorkerSends,
                         testing::Values("asp:buckets=1", "asp:buckets=8", "ssp"));

TEST(SimAsync, BackwardHidesAPushThatFitsIntoIt) {
  Cluster cluster = eight();
  cluster.workers = 2;
  cluster.topology.nic_bytes_per_second = 1e9;
  const Timed timed = time_on(cluster, "asp:buckets=8", 20);
  for (const auto& [worker, taken] : timed.steps)
    EXPECT_NEAR(timed.blocked.at(worker) / static_cast<double>(taken), 0.05 + 0.05 / 8, 0.001);
}

TEST(SimAsync, AnAdPsgdExchangeHidesBehindComputing) {
  Cluster cluster = eight();
  cluster.topology.nic_bytes_per_second = 1e9;
  EXPECT_NEAR(rate(cluster, "ad_psgd", 50), 8, 0.1);
}

TEST(SimAsync, AnAdPsgdExchangeTakesOneModelEachWay) {
  Cluster cluster = eight();
  cluster.workers = 2;
  cluster.compute_per_step = 0;
  cluster.topology.nic_bytes_per_second = 1e9;
  const Timed timed = time_on(cluster, "ad_psgd", 20);
  EXPECT_NEAR(timed.blocked.at(0) / static_cast<double>(timed.steps.at(0)), 0.1, 0.002);
}

// What the first parameter is in the end, when every gradient is 1 and the learning rate is 1.
double descend(const Cluster& cluster, const std::string& strategy, std::int64_t steps) {
  double end = 0;
  make_sim_launcher({.cluster = cluster})->run([&](Endpoint& endpoint) {
    Replica replica(at::zeros({4}, at::kDouble), at::ones({4}, at::kDouble), at::zeros({0}), {4},
                    UpdateRule({.learning_rate = 1}));
    StepLoop loop(endpoint, replica, strategy, {.steps = steps, .compute = {.per_step = 1}});
    bool go_on = true;
    while (go_on) {
      loop.begin();
      loop.replay_backward();
      go_on = loop.end().go_on;
    }
    loop.finish();
    if (endpoint.self().value == 0) end = replica.parameters()[0].item<double>();
  });
  return end;
}

// Four workers that come in the same order in every round: the first four gradients are 0, 1, 2 and
// 3 updates old, all others 3, at every server.
TEST(SimAsync, ADelayScaledGradientCountsByItsAge) {
  Cluster cluster = eight();
  cluster.workers = 4;
  cluster.slowdowns = {{.worker = {1}, .factor = 1.01},
                       {.worker = {2}, .factor = 1.02},
                       {.worker = {3}, .factor = 1.03}};
  EXPECT_NEAR(descend(cluster, "asp:delay_scaled=on", 10), -(1 + 1. / 2 + 1. / 3 + 1. / 4) - 9,
              1e-12);
}

TEST(SimAsync, APlainAspGradientCountsOneNth) {
  Cluster cluster = eight();
  cluster.slowdowns = {{.worker = {5}, .factor = 3}};
  EXPECT_NEAR(descend(cluster, "asp", 10), -10, 1e-12);
}

// Worker i moves to -i in its first step; from then on only exchanges move it.
TEST(SimAsync, AdPsgdModelsMix) {
  Cluster cluster = eight();
  cluster.jitter = 0.1;
  std::map<int, double> ends;
  make_sim_launcher({.cluster = cluster})->run([&](Endpoint& endpoint) {
    Replica replica(at::zeros({4}, at::kDouble), at::zeros({4}, at::kDouble), at::zeros({0}), {4},
                    UpdateRule({.learning_rate = 1}));
    StepLoop loop(endpoint, replica, "ad_psgd", {.compute = {.per_step = 1}});
    for (int step = 0; step < 60; ++step) {
      loop.begin();
      replica.gradients().fill_(step == 0 ? endpoint.self().value : 0);
      loop.replay_backward();
      loop.end();
    }
    loop.finish();
    ends[endpoint.self().value] = replica.parameters()[0].item<double>();
  });
  for (const auto& [worker, end] : ends) EXPECT_NEAR(end, -3.5, 0.01) << worker;
}

}  // namespace
}  // namespace huddle
