// Strategies without barriers on threads: what holds of their numbers whatever the order in which
// things happen.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "huddle/base/error.h"
#include "huddle/schedule/schedule.h"
#include "huddle/strategy/parameter_server/server_messages.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

// Worker i moves to -i in its first step and stays there, but for what others do to it.
at::Tensor once(int worker, int step, const at::Tensor& x) {
  return step == 0 ? at::full_like(x, worker) : at::zeros_like(x);
}

at::Tensor one(int, int, const at::Tensor& x) { return at::ones_like(x); }

bool all_equal(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& each) { return at::equal(each, tensors.front()); });
}

TEST(Served, OneWorkerWithAServerIsPlainTraining) {
  for (const UpdateOptions::Kind kind : {UpdateOptions::Kind::sgd, UpdateOptions::Kind::adam}) {
    const UpdateOptions update{.kind = kind, .learning_rate = 0.1, .momentum = 0.9};
    const Descended plain = descend({.spec = "bsp", .workers = 1, .update = update});
    for (const char* spec :
         {"asp", "asp:delay_scaled=on", "asp:buckets=2", "ssp", "ssp:bound=0,buckets=2"}) {
      const Descended served = descend({.spec = spec, .workers = 1, .update = update});
      EXPECT_TRUE(at::equal(plain.parameters[0], served.parameters[0])) << spec;
    }
  }
}

TEST(Served, AResumedServerGoesOnAsIfNothingHadHappened) {
  const Descended plain = descend({.spec = "asp", .workers = 1});
  const Descended resumed = descend({.spec = "asp", .workers = 1, .resume_after = 5});
  EXPECT_TRUE(at::equal(plain.parameters[0], resumed.parameters[0]));
}

// Whatever the slices: several buckets, and more workers than parameters.
TEST(Served, ABoundOfZeroIsSynchronousSgd) {
  for (const std::int64_t size : {60, 7, 2}) {
    const UpdateOptions update{.learning_rate = 0.1};
    const Descended bsp = descend({.spec = "bsp", .workers = 5, .size = size, .update = update});
    for (const char* spec : {"ssp:bound=0", "ssp:bound=0,buckets=2"}) {
      const Descended ssp = descend({.spec = spec, .workers = 5, .size = size, .update = update});
      EXPECT_LT(distance(bsp, ssp), 1e-12) << spec << " " << size;
      EXPECT_TRUE(all_equal(ssp.parameters)) << spec << " " << size;
    }
  }
}

TEST(Served, EveryGradientIsAppliedExactlyOnce) {
  for (const char* spec : {"asp", "ssp:bound=2", "asp:buckets=2"})
    for (const std::int64_t size : {60, 3}) {
      const Descended run = descend({.spec = spec,
                                     .workers = 6,
                                     .steps = 30,
                                     .size = size,
                                     .update = {.learning_rate = 1},
                                     .gradient = one});
      EXPECT_TRUE(all_equal(run.parameters)) << spec << ": all end with the servers' model";
      EXPECT_LT((run.parameters[0] + 30).abs().max().item<double>(), 1e-9) << spec << " " << size;
    }
}

TEST(Served, SlicesPartitionEveryBucketAndDifferByOne) {
  for (const int workers : {1, 2, 3, 7, 64})
    for (const std::int64_t size : {0, 1, 5, 64, 1000}) {
      const Bucket bucket{.index = 2, .range = {.begin = 11, .end = 11 + size}};
      std::int64_t next = bucket.range.begin;
      for (int host = 0; host < workers; ++host) {
        const Range slice = slice_of(bucket, {host}, workers);
        EXPECT_EQ(slice.begin, next);
        EXPECT_GE(slice.size(), size / workers);
        EXPECT_LE(slice.size(), size / workers + 1);
        next = slice.end;
      }
      EXPECT_EQ(next, bucket.range.end);
    }
}

class Bound : public testing::TestWithParam<int> {};

TEST_P(Bound, KeepsWorkersTogether) {
  constexpr int kWorkers = 4;
  std::array<std::atomic<int>, kWorkers> begun{};
  std::atomic<int> largest_lead = 0;
  const auto gradient = [&](int worker, int step, const at::Tensor& x) {
    begun[static_cast<std::size_t>(worker)] = step + 1;
    for (const std::atomic<int>& other : begun)
      // Whoever has begun so many steps has finished at least all of them but one.
      for (int lead = step - other; lead > largest_lead;) largest_lead = lead;
    return at::zeros_like(x);
  };
  descend({.spec = "ssp:bound=" + std::to_string(GetParam()),
           .workers = kWorkers,
           .steps = 20,
           .gradient = gradient,
           .compute = 0.001,
           .slowdowns = {{.worker = {2}, .factor = 8}}});
  EXPECT_LE(largest_lead, GetParam());
  EXPECT_GE(largest_lead, GetParam() - 1) << "nobody used the freedom that there was";
}

INSTANTIATE_TEST_SUITE_P(Ssp, Bound, testing::Values(0, 1, 3));

TEST(AdPsgd, ExchangesLeaveTheMeanOfAllModelsAsItWas) {
  for (const int workers : {2, 3, 5, 8}) {
    const Descended run = descend({.spec = "ad_psgd",
                                   .workers = workers,
                                   .steps = 80,
                                   .update = {.learning_rate = 1},
                                   .gradient = once,
                                   .compute = 0.0003});
    EXPECT_NEAR(first_of(mean_of(run.parameters)), -(workers - 1) / 2.0, 1e-12) << workers;
  }
}

TEST(AdPsgd, NoUpdateIsLostWhileModelsTravel) {
  const Descended run = descend({.spec = "ad_psgd",
                                 .workers = 6,
                                 .steps = 50,
                                 .update = {.learning_rate = 1},
                                 .gradient = one,
                                 .compute = 0.0002});
  EXPECT_NEAR(first_of(mean_of(run.parameters)), -50, 1e-9);
}

class Eager : public testing::TestWithParam<const char*> {};

TEST_P(Eager, EveryGradientCountsOnceAndAllEndEqual) {
  for (const int workers : {1, 2, 5}) {
    const Descended run = descend({.spec = GetParam(),
                                   .workers = workers,
                                   .steps = 30,
                                   .update = {.learning_rate = 1},
                                   .gradient = one,
                                   .compute = 0.0002,
                                   .slowdowns = {{.worker = {workers - 1}, .factor = 4}}});
    EXPECT_TRUE(all_equal(run.parameters)) << workers;
    EXPECT_NEAR(first_of(run.parameters[0]), -30, 1e-9) << workers;
  }
}

TEST_P(Eager, ReplicasWithMomentumEndEqualToTheLastBit) {
  const Descended run = descend({.spec = GetParam(), .workers = 4, .compute = 0.0002});
  EXPECT_TRUE(all_equal(run.parameters));
  EXPECT_GT(run.parameters[0].abs().max().item<double>(), 0);
}

// Workers that were late apply rounds at steps whose rates are not those of the rounds.
TEST_P(Eager, ReplicasUnderAScheduleEndEqualToTheLastBit) {
  const Descended run = descend({.spec = GetParam(),
                                 .workers = 4,
                                 .steps = 30,
                                 .learning_rate = [](int step) { return 0.1 / (1 + step); },
                                 .compute = 0.0002,
                                 .slowdowns = {{.worker = {2}, .factor = 8}}});
  EXPECT_TRUE(all_equal(run.parameters));
  EXPECT_GT(run.parameters[0].abs().max().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, Eager, testing::Values("eager", "eager:mode=solo"));

TEST(EagerAlone, IsPlainTraining) {
  const auto falling = [](int step) { return 0.1 / (1 + step); };
  const Descended plain = descend({.spec = "bsp", .workers = 1, .learning_rate = falling});
  const Descended eager = descend({.spec = "eager", .workers = 1, .learning_rate = falling});
  EXPECT_TRUE(at::equal(plain.parameters[0], eager.parameters[0]));
}

TEST(RandomGroups, AreDrawnFromTheSeedAlone) {
  const Descended first = descend({.spec = "random_groups", .workers = 8});
  const Descended second = descend({.spec = "random_groups", .workers = 8, .compute = 0.0005});
  EXPECT_TRUE(same_bits(first, second));
  EXPECT_FALSE(same_bits(first, descend({.spec = "random_groups:seed=1", .workers = 8})));
  for (const Group& group : first.groups) {
    EXPECT_LE(group.size(), 3);
    EXPECT_GE(group.size(), 2);
  }
}

TEST(RandomGroups, MixWithoutMovingTheMean) {
  const Descended run = descend({.spec = "random_groups:group=2",
                                 .workers = 7,
                                 .steps = 60,
                                 .update = {.learning_rate = 1},
                                 .gradient = once});
  EXPECT_NEAR(first_of(mean_of(run.parameters)), -3, 1e-12);
  EXPECT_LT(spread(run.parameters), 0.01);
}

// Five workers take 12 steps; worker 2 dies at the beginning of step 4, or after so many operations
// there.
std::vector<Loss> losses_of(const std::string& spec, int after_operations,
                            std::atomic<int>& finished) {
  ThreadsOptions engine;
  engine.cluster.workers = 5;
  engine.cluster.deaths = {
      {.worker = {2}, .step = {4}, .after_operations = after_operations, .time = {}}};
  return make_threads_launcher(engine)->run([&](Endpoint& endpoint) {
    Replica replica(at::zeros({6}), at::ones({6}), at::zeros({0}), {3, 3}, UpdateRule({}));
    StepLoop loop(endpoint, replica, spec,
                  {.averaging = {.deadline = {20}}, .compute = {.per_step = 0.0003}});
    for (int step = 0; step < 12; ++step) {
      loop.begin();
      loop.replay_backward();
      loop.end();
    }
    loop.finish();
    ++finished;
  });
}

class ALossOnThreads : public testing::TestWithParam<int> {};

TEST_P(ALossOnThreads, OfAnAdPsgdWorkerHoldsUpNobody) {
  std::atomic<int> finished = 0;
  const auto losses = losses_of("ad_psgd", GetParam(), finished);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].worker, WorkerId{2});
  EXPECT_EQ(finished, 4);
}

TEST_P(ALossOnThreads, OfAServerEndsTheRunAndNamesWhatItHeld) {
  for (const char* spec : {"asp", "asp:buckets=2", "ssp"}) {
    std::atomic<int> finished = 0;
    try {
      losses_of(spec, GetParam(), finished);
      ADD_FAILURE() << spec << " went on";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer(), WorkerId{2}) << lost.what();
      EXPECT_NE(std::string(lost.what()).find("worker 2 held"), std::string::npos) << lost.what();
    }
    EXPECT_EQ(finished, 0) << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(Asynchronous, ALossOnThreads, testing::Values(0, 1, 2, 3, 7, 11));

TEST(Asynchronous, RefusesWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  const auto refused = [&](const char* spec) {
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;
  };
  for (const char* spec :
       {"asp", "ssp:bound=0", "ad_psgd", "eager:mode=solo", "random_groups:group=8"})
    EXPECT_NO_THROW(prepare_strategy(spec, setting)) << spec;
  refused("ssp:bound=-1");
  refused("asp:delay_scaled=yes");
  refused("eager:mode=all");
  refused("eager:mode=solo,seed=1");  // Nobody is drawn.
  refused("random_groups:group=1");
  refused("random_groups:group=9");
  refused("random_groups:group=4294967298");
  setting.cluster.workers = 1;
  refused("ad_psgd");
  refused("random_groups");
}

}  // namespace
}  // namespace huddle
