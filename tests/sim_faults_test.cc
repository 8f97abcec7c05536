// Faults that the sim engine once had, each with the smallest cluster that shows it.
//
// Each test is one simulation, in a process of its own (isolated_main.cc).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "huddle/base/error.h"
#include "huddle/report/format.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"
#include "tests/conformance/talk.h"

namespace huddle {
namespace {

constexpr double kSpeed = 1e6;  // Bytes a second, of every connection.
constexpr WorkerId kSender{0};
constexpr WorkerId kReceiver{1};
constexpr Deadline kPatience{1e6};  // Virtual time is free.

Cluster of_workers(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.topology.nic_bytes_per_second = kSpeed;
  return cluster;
}

constexpr Place place_of(WorkerId worker) { return {Place::Kind::worker, worker.value}; }

// A message, without numbers, that takes so long on a connection of its own.
at::Tensor lasting(Seconds seconds) {
  return at::empty({std::llround(seconds * kSpeed)},
                   at::TensorOptions().dtype(at::kByte).device(at::kMeta));
}

// The sender's end of a message to the receiver, or the receiver's; the two alone call it.
Pending begin_message(Endpoint& endpoint, Tag tag, const at::Tensor& data) {
  return endpoint.self() == kSender ? endpoint.send(kReceiver, tag, data)
                                    : endpoint.receive(kSender, tag, data);
}

// Waits for a message that a cut breaks; returns the moment at which this end knew.
Time broken_at(Endpoint& endpoint, Pending message) {
  const PeerLost lost = thrown_by<PeerLost>([&] { message.wait(kPatience); });
  EXPECT_EQ(lost.peer(), endpoint.self() == kSender ? kReceiver : kSender);
  expect_mentions(lost.what(), {"link", "cut"});
  return endpoint.now();
}

TrainResult timed(
    const Cluster& cluster, const std::string& strategy, double model_bytes, std::int64_t steps,
    const StepObserver& observer = [](const StepRecord&) {}) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  return time_strategy(*launcher, model_bytes,
                       {.strategy = strategy,
                        .workers = cluster.workers,
                        .steps = steps,
                        .compute = {cluster.compute_per_step, cluster.backward_share}},
                       observer);
}

// Traffic that is under way at the cut, that ends by itself later, and that is yet to begin.
class CutUnderTraffic : public testing::TestWithParam<Background> {};

TEST_P(CutUnderTraffic, BreaksMessagesAndNothingElse) {
  Cluster cluster = of_workers(3);
  cluster.cuts = {{.place = place_of(kReceiver), .time = 0.5}};
  cluster.background = {GetParam()};
  const auto losses = make_sim_launcher({.cluster = cluster})->run([](Endpoint& endpoint) {
    constexpr Tag kLater = numbered(1);
    if (endpoint.self().value < 2) {
      EXPECT_NEAR(broken_at(endpoint, begin_message(endpoint, numbered(0), lasting(1))), 0.5, 1e-9);
    }
    endpoint.compute(Step{0}, 5);
    if (endpoint.self() == kSender) tell(endpoint, {2}, kLater, 7);
    if (endpoint.self().value == 2) {
      EXPECT_EQ(hear(endpoint, kSender, kLater), 7);
    }
  });
  EXPECT_TRUE(losses.empty());
}

Background elastic(Time from, Time until) {
  return {.place = place_of(kReceiver),
          .bytes_per_second = kSpeed,
          .elastic = true,
          .from = from,
          .until = until};
}

INSTANTIATE_TEST_SUITE_P(Sim, CutUnderTraffic,
                         testing::Values(elastic(0, kForever), elastic(0, 2), elastic(1, kForever),
                                         elastic(1, 2)));

// The moments include some that have no short binary form, so that a clock that adds up may be a
// little off.
class QueuedAtACut : public testing::TestWithParam<Time> {};

TEST_P(QueuedAtACut, FailsAtBothEndsWithTheMessageBeforeIt) {
  const Time cut = GetParam();
  Cluster cluster = of_workers(2);
  cluster.topology.latency_in_rack = 0.01;
  cluster.cuts = {{.place = place_of(kReceiver), .time = cut}};
  int failed = 0;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  launcher->run([&](Endpoint& endpoint) {
    endpoint.compute(Step{0}, 0.1 * cut);
    std::vector<Pending> messages;
    for (const std::uint32_t i : {0, 1, 2})
      messages.push_back(begin_message(endpoint, numbered(i), lasting(2 * cut)));
    messages.push_back(begin_message(endpoint, numbered(3), at::zeros({0})));
    messages.push_back(begin_message(endpoint, in_lane(Lane{1}, numbered(4)), lasting(cut)));
    for (Pending& message : messages) {
      EXPECT_NEAR(broken_at(endpoint, std::move(message)), cut, 1e-9);
      ++failed;
    }
    const Time later = endpoint.now();
    EXPECT_EQ(broken_at(endpoint, begin_message(endpoint, numbered(5), lasting(1))), later);
  });
  EXPECT_EQ(failed, 2 * 5);
  const double in_lanes = 2 * cut * kSpeed + cut * kSpeed;  // The first of either began.
  for (const LinkUse& use : launcher->link_uses()) {
    EXPECT_LE(use.bytes, in_lanes + 2) << use.name << ": what broke before it began";
    EXPECT_LE(use.full, (in_lanes + 2) / kSpeed) << use.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, QueuedAtACut,
                         testing::Values(0.5, 0.1 + 0.2, 1. / 3, 0.7, 1e-3 / 7, 12345.678));

// So many steps may add up to a moment just before that of the cut, which is the same for SimGrid.
class BegunAtACut : public testing::TestWithParam<int> {};

TEST_P(BegunAtACut, FailsAtBothEnds) {
  const Time cut = 0.4;
  Cluster cluster = of_workers(2);
  cluster.cuts = {{.place = place_of(kReceiver), .time = cut}};
  const auto launcher = make_sim_launcher({.cluster = cluster});
  launcher->run([&](Endpoint& endpoint) {
    for (int step = 0; step < GetParam(); ++step) endpoint.compute(Step{step}, cut / GetParam());
    EXPECT_NEAR(broken_at(endpoint, begin_message(endpoint, numbered(0), lasting(1))), cut, 1e-9);
  });
  for (const LinkUse& use : launcher->link_uses()) EXPECT_EQ(use.bytes, 0) << use.name;
}

INSTANTIATE_TEST_SUITE_P(Sim, BegunAtACut, testing::Values(3, 4, 7, 10, 11, 13, 20, 30));

// With links that bind and links that do not, under either model, and with traffic that would have
// used the link.
struct BeginningCase {
  double bytes_per_second = kSpeed;
  Cluster::NetworkModel model = Cluster::NetworkModel::alpha_beta;
  std::vector<Background> background;
};

class CutAtTheBeginning : public testing::TestWithParam<BeginningCase> {};

TEST_P(CutAtTheBeginning, LosesThatPeerAtOnceAndNobodyElse) {
  Cluster cluster = of_workers(3);
  cluster.topology.nic_bytes_per_second = GetParam().bytes_per_second;
  cluster.network_model = GetParam().model;
  cluster.background = GetParam().background;
  cluster.cuts = {{.place = place_of(kReceiver), .time = 0}};
  const auto losses = make_sim_launcher({.cluster = cluster})->run([](Endpoint& endpoint) {
    constexpr Tag kControl{Kind::control, Purpose::message, kMainLane, {1}};
    if (endpoint.self().value < 2) {
      EXPECT_EQ(broken_at(endpoint, begin_message(endpoint, numbered(0), lasting(1))), 0);
      EXPECT_EQ(broken_at(endpoint, begin_message(endpoint, kControl, number(1))), 0);
    }
    if (endpoint.self() == kSender) tell(endpoint, {2}, numbered(2), 7);
    if (endpoint.self().value == 2) {
      EXPECT_EQ(hear(endpoint, kSender, numbered(2)), 7);
    }
    endpoint.compute(Step{0}, 5);
  });
  EXPECT_TRUE(losses.empty());
}

INSTANTIATE_TEST_SUITE_P(Sim, CutAtTheBeginning,
                         testing::Values(BeginningCase{},
                                         BeginningCase{.bytes_per_second = kUnlimited},
                                         BeginningCase{.model = Cluster::NetworkModel::tcp},
                                         BeginningCase{.background = {elastic(0, kForever)}},
                                         BeginningCase{.background = {elastic(1, 2)}}));

// SimGrid's figures for TCP: what it makes of latency and of bandwidth.
constexpr double kTcpLatency = 13.01;
constexpr double kTcpBandwidth = 0.97;

// The latencies are told apart by the seventh digit only.
Cluster over_tcp() {
  Cluster cluster = of_workers(4);
  cluster.network_model = Cluster::NetworkModel::tcp;
  cluster.topology.latency_in_rack = 0.1;
  for (int worker = 0; worker < 4; ++worker)
    cluster.topology.link_overrides.push_back(
        {.place = {Place::Kind::worker, worker}, .extra_latency = worker * worker * 1e-7});
  return cluster;
}

TEST(SimTcp, EveryPairHasItsOwnLatencyAndEveryLinkItsOwnBytes) {
  const auto launcher = make_sim_launcher({.cluster = over_tcp()});
  launcher->run([](Endpoint& endpoint) {
    const int self = endpoint.self().value;
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to) {
        const Time begin = 2 * (4 * from + to);
        endpoint.compute(Step{0}, begin - endpoint.now());
        if (from == to || (self != from && self != to)) continue;
        const at::Tensor data = lasting(0.001 * (from + 1));
        if (self == from) endpoint.send({to}, numbered(0), data).wait(kDeadline);
        if (self == to) endpoint.receive({from}, numbered(0), data).wait(kDeadline);
        const Seconds latency = 0.1 + (from * from + to * to) * 1e-7;
        EXPECT_NEAR(endpoint.now() - begin,
                    kTcpLatency * latency + 0.001 * (from + 1) / kTcpBandwidth, 2e-8)
            << from << " to " << to;
      }
  });
  std::map<std::string, double> bytes;
  for (const LinkUse& use : launcher->link_uses()) bytes[use.name] = use.bytes;
  EXPECT_EQ(bytes.size(), 8u);
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(bytes[named({worker}) + " out"], 3e3 * (worker + 1));
    EXPECT_EQ(bytes[named({worker}) + " in"], 10e3 - 1e3 * (worker + 1));
  }
}

// Two workers that exchange a model in 0.1 s, over and over, and never compute.
Cluster without_computing() {
  Cluster cluster = of_workers(2);
  cluster.topology.nic_bytes_per_second = 1e9;
  return cluster;
}

TEST(SimWithoutComputing, AHaltHoldsUpTheNextStep) {
  Cluster cluster = without_computing();
  cluster.halts = {{.worker = {1}, .from = 0.25, .seconds = 5}};
  const TrainResult result = timed(cluster, "sesgd:form=paper", 1e8, 10);
  ASSERT_FALSE(result.error);
  // Step 3 would have begun at 0.3 s.
  EXPECT_NEAR(result.summary.seconds, 10 * 0.1 + (5.25 - 0.3), 1e-6);
}

TEST(SimWithoutComputing, ADeathAtAMomentEndsTheStepItFallsInto) {
  Cluster cluster = without_computing();
  cluster.deaths = {{.worker = {1}, .step = {}, .time = 0.25}};
  Time last = 0;
  const TrainResult result = timed(cluster, "sesgd:form=paper", 1e8, 10,
                                   [&](const StepRecord& step) { last = step.ended; });
  ASSERT_TRUE(result.error);
  const PeerLost lost = thrown_by<PeerLost>([&] { std::rethrow_exception(result.error); });
  EXPECT_EQ(lost.peer(), WorkerId{1});
  expect_mentions(lost.what(), {"worker 1 died after 0.25 s", "step 2"});
  EXPECT_NEAR(last, 0.2, 1e-6);
}

TEST(SimWithoutComputing, APauseIsRefusedBecauseItHasNothingToBePartOf) {
  Cluster cluster = without_computing();
  cluster.pauses = {{.probability = 1, .seconds = 1}};
  const auto error = thrown_by<UsageError>([&] { make_sim_launcher({.cluster = cluster}); });
  expect_mentions(error.what(), {"pause", "compute time per step is 0"});
}

// A ring over four connections, of which that of worker 2 is the slowest by name.
std::string bottleneck_of_ring(const std::vector<Background>& background) {
  Cluster cluster = of_workers(4);
  cluster.topology.link_overrides = {
      {.place = {Place::Kind::worker, 2}, .bytes_per_second = 0.6 * kSpeed}};
  cluster.background = background;
  const TrainResult result = timed(cluster, "bsp:algorithm=ring", 1e6, 4);
  if (result.error) std::rethrow_exception(result.error);
  const auto narrowest = bottleneck(result.summary.links, result.summary.seconds);
  if (!narrowest) return "none";
  EXPECT_NEAR(narrowest->load, 1, 0.05);
  return narrowest->link.name;
}

Background beside_worker_1(double bytes_per_second) {
  return {.place = {Place::Kind::worker, 1},
          .direction = Direction::out,
          .bytes_per_second = bytes_per_second};
}

TEST(SimBottleneck, IsTheSlowestLinkWhereOthersLeaveEnough) {
  EXPECT_EQ(bottleneck_of_ring({beside_worker_1(0.3 * kSpeed)}), "worker 2 out");
}

TEST(SimBottleneck, IsTheLinkOnWhichOthersLeaveLeast) {
  EXPECT_EQ(bottleneck_of_ring({beside_worker_1(0.5 * kSpeed)}), "worker 1 out");
}

TEST(SimBottleneck, IsTheLinkOnWhichOthersThatGiveWayLeaveLeast) {
  Background greedy = beside_worker_1(kSpeed);
  greedy.elastic = true;  // So that it gets one of two halves.
  EXPECT_EQ(bottleneck_of_ring({greedy}), "worker 1 out");
}

TEST(Sim, AnEmptyMessageDoesNotOvertakeTheOneBeforeIt) {
  Cluster cluster = of_workers(2);
  cluster.topology.latency_in_rack = 0.01;
  make_sim_launcher({.cluster = cluster})->run([](Endpoint& endpoint) {
    std::vector<Pending> messages;
    messages.push_back(begin_message(endpoint, numbered(0), at::zeros({0})));
    messages.push_back(begin_message(endpoint, numbered(1), lasting(1)));
    messages.push_back(begin_message(endpoint, numbered(2), at::zeros({0})));
    messages.push_back(begin_message(endpoint, numbered(3), lasting(1)));
    messages.push_back(begin_message(endpoint, in_lane(Lane{1}, numbered(4)), at::zeros({0})));
    const std::vector<Time> expected{0.01, 1.01, 1.01, 2.01, 0.01};
    for (const std::size_t i : {4, 0, 2, 1, 3}) {
      messages[i].wait(kDeadline);
      EXPECT_NEAR(endpoint.now(), expected[i], 1e-5) << i;
    }
  });
}

TEST(SimOnce, ASecondLauncherIsRefused) {
  const auto first = make_sim_launcher({.cluster = of_workers(2)});
  first->run([](Endpoint& endpoint) { meet(endpoint); });
  const auto error = thrown_by<UsageError>([] { make_sim_launcher({.cluster = of_workers(2)}); });
  expect_mentions(error.what(), {"already", "a process of its own"});
}

TEST(SimOnce, ASecondLauncherIsRefusedAfterTheFirstIsGone) {
  make_sim_launcher({.cluster = of_workers(2)})->run([](Endpoint& endpoint) { meet(endpoint); });
  const auto error = thrown_by<UsageError>([] { make_sim_launcher({.cluster = of_workers(2)}); });
  expect_mentions(error.what(), {"already", "a process of its own"});
}

TEST(SimOnce, ASecondRunIsRefused) {
  const auto launcher = make_sim_launcher({.cluster = of_workers(2)});
  const auto body = [](Endpoint& endpoint) { meet(endpoint); };
  launcher->run(body);
  const auto error = thrown_by<UsageError>([&] { launcher->run(body); });
  expect_mentions(error.what(), {"already", "new process"});
}

// Here and not in the conformance suite, because a default deadline is long in real time.
TEST(Sim, WhoeverWaitsForAnExclusiveBodyWithoutEndGivesUp) {
  make_sim_launcher({.cluster = of_workers(1)})->run([](Endpoint& endpoint) {
    const Seconds patience = Deadline{}.after;
    endpoint.compute(Step{4}, 0);
    Pending program = endpoint.spawn(Lane{1}, [&](Endpoint& lane) {
      lane.compute(Step{4}, 1);  // The worker goes first.
      const auto late =
          thrown_by<Timeout>([&] { lane.exclusive([] { ADD_FAILURE() << "it got in"; }); });
      expect_mentions(late.what(), {"worker 0", "step 4", "exclusive body"});
      EXPECT_NEAR(lane.now(), 1 + patience, 1e-9);
    });
    endpoint.exclusive([&] { endpoint.compute(Step{4}, 2 * patience); });
    program.wait({});
  });
}

}  // namespace
}  // namespace huddle
