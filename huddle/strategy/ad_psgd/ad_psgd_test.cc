#include "huddle/strategy/ad_psgd/ad_psgd.h"

#include <gtest/gtest.h>

#include <atomic>

#include "huddle/base/error.h"
#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

TEST(AdPsgd, ExchangesLeaveTheMeanOfAllModelsAsItWas) {
  for (const int workers : {2, 3, 5, 8}) {
    const Descended run = descend({.spec = "ad_psgd",
                                   .workers = workers,
                                   .steps = 80,
                                   .update = {.learning_rate = 1},
                                   .gradient = own_number_once,
                                   .compute = 0.0003});
    EXPECT_NEAR(first_of(mean_of(run.parameters)), -(workers - 1) / 2.0, 1e-12) << workers;
  }
}

// Nobody said how long the run is, so only for the sake of its rates is the counter asked.
TEST(AdPsgd, BalancesRatesOfRunsWithoutAnEnd) {
  const Descended run = descend({.spec = "ad_psgd:balance=on",
                                 .workers = 4,
                                 .steps = 50,
                                 .update = {.learning_rate = 1},
                                 .gradient = one_everywhere,
                                 .compute = 0.0002});
  // All take as many steps, so the mean moves as far as without, but for who was ahead by a few.
  EXPECT_NEAR(first_of(mean_of(run.parameters)), -50, 15);
}

TEST(AdPsgd, NoUpdateIsLostWhileModelsTravel) {
  for (const char* spec : {"ad_psgd", "ad_psgd:wire=bf16", "ad_psgd:wire=int8"}) {
    const Descended run = descend({.spec = spec,
                                   .workers = 6,
                                   .steps = 50,
                                   .update = {.learning_rate = 1},
                                   .gradient = one_everywhere,
                                   .compute = 0.0002});
    EXPECT_NEAR(first_of(mean_of(run.parameters)), -50, 1e-9) << spec;
  }
}

// Their first meetings are in bfloat16; a byte a number after that, and 4 a block.
TEST(AdPsgd, NearModelsMeetInTheirLowBits) {
  const auto train = [](const char* spec) {
    return descend({.spec = spec,
                    .workers = 4,
                    .steps = 200,
                    .size = 4096,
                    .update = {.learning_rate = 0.1},
                    .compute = 0.0003});
  };
  const auto bytes_a_message = [](const Descended& run) {
    const Meter::Total& asked = run.traffic[0];
    return static_cast<double>(asked.bytes_sent) / static_cast<double>(asked.messages_sent);
  };
  const Descended narrow = train("ad_psgd:wire=int8");
  EXPECT_LT(bytes_a_message(narrow), 0.2 * bytes_a_message(train("ad_psgd")));  // Of float64.
  EXPECT_LT(spread(narrow.parameters), 1);  // Alone they would be at 0, 1, 2 and 3.
}

class LostPartner : public testing::TestWithParam<int> {};

TEST_P(LostPartner, HoldsUpNobody) {
  std::atomic<int> finished = 0;
  const auto losses = lose_worker_2("ad_psgd", GetParam(), finished);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].worker, WorkerId{2});
  EXPECT_EQ(finished, 4);
}

INSTANTIATE_TEST_SUITE_P(AfterOperations, LostPartner, testing::Values(0, 1, 2, 3, 7, 11));

TEST(AdPsgd, RefusesWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  EXPECT_NO_THROW(prepare_strategy("ad_psgd", setting));
  setting.cluster.workers = 1;
  EXPECT_THROW(prepare_strategy("ad_psgd", setting), UsageError);
  setting.cluster.workers = 8;
  setting.update.reset();
  EXPECT_NO_THROW(prepare_strategy("ad_psgd", setting));
  EXPECT_NE(refusal([&] { prepare_strategy("ad_psgd:balance=on", setting); }).find("user's own"),
            std::string::npos);
}

}  // namespace
}  // namespace huddle
