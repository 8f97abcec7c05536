#include "huddle/strategy/parameter_server/asp.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "huddle/base/error.h"
#include "huddle/strategy/parameter_server/server_messages.h"
#include "huddle/strategy/registry.h"
#include "huddle/transport/endpoint.h"
#include "tests/support/descent.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

TEST(ParameterServer, OneWorkerWithAServerIsPlainTraining) {
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

TEST(ParameterServer, AResumedServerGoesOnAsIfNothingHadHappened) {
  const Descended plain = descend({.spec = "asp", .workers = 1});
  const Descended resumed = descend({.spec = "asp", .workers = 1, .resume_after = 5});
  EXPECT_TRUE(at::equal(plain.parameters[0], resumed.parameters[0]));
}

// Whatever the slices: several buckets, and more workers than parameters.
TEST(ParameterServer, ABoundOfZeroIsSynchronousSgd) {
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

TEST(ParameterServer, EveryGradientIsAppliedExactlyOnce) {
  for (const char* spec : {"asp", "ssp:bound=2", "asp:buckets=2"})
    for (const std::int64_t size : {60, 3}) {
      const Descended run = descend({.spec = spec,
                                     .workers = 6,
                                     .steps = 30,
                                     .size = size,
                                     .update = {.learning_rate = 1},
                                     .gradient = one_everywhere});
      EXPECT_TRUE(all_equal(run.parameters)) << spec << ": all end with the servers' model";
      EXPECT_LT(run.parameters[0].add(30).abs().max().item<double>(), 1e-9) << spec << " " << size;
    }
}

TEST(ParameterServer, SlicesPartitionEveryBucketAndDifferByOne) {
  for (const int workers : {1, 2, 3, 7, 64})
    for (const std::int64_t size : {0, 1, 5, 64, 1000}) {
      const Bucket bucket{.index = 2, .range = {.begin = 11, .end = 11 + size}};
      std::int64_t next = bucket.range.begin;
      for (int home = 0; home < workers; ++home) {
        const Range slice = slice_of(bucket, {home}, workers);
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

class LostServer : public testing::TestWithParam<int> {};

TEST_P(LostServer, EndsTheRunAndNamesWhatItHeld) {
  for (const char* spec : {"asp", "asp:buckets=2", "ssp"}) {
    std::atomic<int> finished = 0;
    try {
      lose_worker_2(spec, GetParam(), finished);
      ADD_FAILURE() << spec << " went on";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer(), WorkerId{2}) << lost.what();
      EXPECT_NE(std::string(lost.what()).find("worker 2 held"), std::string::npos) << lost.what();
    }
    EXPECT_EQ(finished, 0) << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(AfterOperations, LostServer, testing::Values(0, 1, 2, 3, 7, 11));

TEST(ParameterServer, RefusesWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  for (const char* spec : {"asp", "ssp:bound=0"})
    EXPECT_NO_THROW(prepare_strategy(spec, setting)) << spec;
  for (const char* spec : {"ssp:bound=-1", "asp:delay_scaled=yes"})
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;
  EXPECT_NO_THROW(prepare_strategy("asp:balance=on", setting));
  EXPECT_THROW(prepare_strategy("asp:balance=on,delay_scaled=on", setting), UsageError);
}

TEST(Balance, IsRefusedWithTheReasonWhereThereIsNothingToBalance) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  for (const SpecInfo& info : known_strategies()) {
    const bool has_it = info.name == "p_reduce" || info.name == "ad_psgd" || info.name == "asp";
    const std::string told = refusal([&] { prepare_strategy(info.name + ":balance=on", setting); });
    EXPECT_EQ(told.empty(), has_it) << info.name << ": " << told;
    for (const char* const part : {"has no balance", "ad_psgd, p_reduce"})
      EXPECT_EQ(told.find(part) == std::string::npos, has_it) << info.name << ": " << told;
  }
  EXPECT_NE(refusal([&] { prepare_strategy("ds_sync:balance=on", setting); }).find("equal shares"),
            std::string::npos);
}

}  // namespace
}  // namespace huddle
