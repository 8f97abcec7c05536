// Rounds, racks and grids, statistics, slots, and what is refused.

#include "huddle/strategy/local_sgd/local_steps.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/local_sgd/presets.h"
#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"
#include "tests/support/equal_racks.h"

namespace huddle {
namespace {

TEST(LocalSteps, MeetAfterEveryTauStepsBehindTheWarmup) {
  const Group alone({WorkerId{0}});
  const Group everyone = Group::everyone(4);
  const Descended result = descend({.spec = "local_sgd:tau=3,warmup=2", .steps = 9});
  const std::vector<Group> expected = {everyone, everyone, alone,    alone, everyone,
                                       alone,    alone,    everyone, alone};
  EXPECT_EQ(result.groups, expected);
  for (std::size_t t = 0; t < 9; ++t) {
    EXPECT_EQ(result.progress[t], static_cast<double>(t + 1));
    const auto [least, most] = std::minmax_element(result.path[t].begin(), result.path[t].end());
    EXPECT_EQ(*least == *most, expected[t] == everyone) << "step " << t;
  }
}

TEST(LocalSteps, ASkippedStepStillEndsItsRound) {
  const Descended result = descend({.spec = "local_sgd:tau=2", .steps = 4, .skip = 3});
  EXPECT_EQ(spread(result.parameters), 0);
  EXPECT_NE(result.path[3], descend({.spec = "local_sgd:tau=2", .steps = 4}).path[3]);
}

TEST(LocalSteps, ARunThatEndsWithinARoundKeepsEveryLocalStep) {
  // Constant displacements: the mean must have come exactly as far as all steps together.
  const auto constant = [](int worker, int, const at::Tensor& x) {
    return at::full_like(x, worker);
  };
  for (const char* spec : {"local_sgd:tau=4", "cocod:tau=4", "slowmo:tau=4,beta=0"})
    for (const int steps : {3, 4, 5, 9, 11}) {
      const Descended result = descend(
          {.spec = spec, .steps = steps, .update = {.learning_rate = 1}, .gradient = constant});
      EXPECT_NEAR(at::stack(result.parameters).mean().item<double>(), -1.5 * steps, 1e-12)
          << spec << " " << steps;
    }
  // A run's end changes nobody's model, so the path to it is that of a longer run.
  for (const char* spec : {"overlap_local_sgd:tau=4,beta=0.7", "easgd:tau=4", "diloco:tau=4"}) {
    const Descended shorter = descend({.spec = spec, .steps = 10});
    const Descended longer = descend({.spec = spec, .steps = 12});
    EXPECT_EQ(shorter.path[9], longer.path[9]) << spec;
    EXPECT_EQ(shorter.parameters[1][0].item<double>(), longer.path[9][1]) << spec;
  }
}

TEST(LocalSteps, AveragesGradientsInsideTheRackAtEveryStep) {
  const Descended result =
      descend({.spec = "local_sgd:tau=4,inner=rack", .workers = 6, .steps = 8, .per_rack = 3});
  EXPECT_EQ(result.groups[0], Group({WorkerId{0}, WorkerId{1}, WorkerId{2}}));
  EXPECT_EQ(result.groups[3], Group::everyone(6));
  for (std::size_t t = 0; t < 8; ++t) {
    EXPECT_EQ(result.path[t][0], result.path[t][2]);
    EXPECT_EQ(result.path[t][3], result.path[t][5]);
    EXPECT_EQ(result.path[t][0] == result.path[t][3], t % 4 == 3);
  }
}

TEST(LocalSteps, ARackActsAsOneWorkerWithItsMeanGradient) {
  const Descended racks =
      descend({.spec = "overlap_local_sgd:beta=0.5,inner=rack", .workers = 4, .per_rack = 2});
  const Descended two = descend({.spec = "overlap_local_sgd:beta=0.5",
                                 .workers = 2,
                                 .gradient = [](int worker, int step, const at::Tensor& x) {
                                   return x - (2 * worker + 0.5) + 0.1 * step;
                                 }});
  for (std::size_t t = 0; t < two.path.size(); ++t) {
    EXPECT_NEAR(racks.path[t][1], two.path[t][0], 1e-12);
    EXPECT_NEAR(racks.path[t][2], two.path[t][1], 1e-12);
  }
}

TEST(LocalSteps, MeetsRowsAndColumnsOfAGridInTurn) {
  const auto once = [](int worker, int step, const at::Tensor& x) {
    return step == 0 ? at::full_like(x, worker) : at::zeros_like(x);
  };
  const Descended result = descend({.spec = "local_sgd:tau=2,scope=grid",
                                    .workers = 9,
                                    .steps = 4,
                                    .update = {.learning_rate = 1},
                                    .gradient = once});
  EXPECT_EQ(result.groups[1], Group({WorkerId{0}, WorkerId{1}, WorkerId{2}}));
  EXPECT_EQ(result.groups[3], Group({WorkerId{0}, WorkerId{3}, WorkerId{6}}));
  EXPECT_LT(spread(result.parameters), 1e-12) << "two boundaries mix a grid exactly";
  EXPECT_NEAR(result.path[3][0], -4, 1e-12);
}

TEST(LocalSteps, TreatsSlotsAsTheirPolicySays) {
  const auto slots = [](const std::string& spec) { return descend({.spec = spec}).slot; };
  for (const char* preset : {"local_sgd:tau=3", "easgd:tau=3", "diloco:tau=3"}) {
    const auto kept = slots(preset);
    EXPECT_NE(kept[2][0], kept[2][1]) << preset;
    const auto averaged = slots(std::string(preset) + ",slots=average");
    EXPECT_EQ(averaged[2][0], averaged[2][1]) << preset;
    EXPECT_NEAR(averaged[2][0], (kept[2][0] + kept[2][1] + kept[2][2] + kept[2][3]) / 4, 1e-12);
    EXPECT_EQ(slots(std::string(preset) + ",slots=reset")[2], std::vector<double>(4, 0)) << preset;
  }
  EXPECT_EQ(slots("overlap_local_sgd:tau=3,slots=reset")[2], std::vector<double>(4, 0));
}

TEST(LocalSteps, TreatsStatisticsAsTheirPolicySays) {
  // Worker i adds i + 1 at each of 12 steps, so the mean of all is 30 at the end.
  const auto statistics = [](const std::string& spec) {
    const Descended result = descend({.spec = spec});
    EXPECT_NEAR(at::stack(result.statistics).mean().item<double>(), 30, 1e-12) << spec;
    return spread(result.statistics);
  };
  EXPECT_LT(statistics("local_sgd:tau=4"), 1e-12);
  EXPECT_NEAR(statistics("local_sgd:tau=4,statistics=keep"), 18, 1e-12);
  EXPECT_NEAR(statistics("slowmo:tau=4,statistics=recompute"), 18, 1e-12);
  EXPECT_NEAR(statistics("overlap_local_sgd:tau=4"), 18, 1e-12) << "kept, as published";
  // A round late: what the last round added still differs.
  EXPECT_NEAR(statistics("overlap_local_sgd:tau=4,statistics=average"), 6, 1e-12);
}

struct Refusal {
  std::string spec;
  std::string reason;
  int workers = 4;
  int per_rack = 0;
  double momentum = 0.9;
};

TEST(LocalSteps, RefusesWhatIsNotDefinedAndSaysWhatIs) {
  const std::vector<Refusal> refusals = {
      {"local_sgd:tau=0", "from 1 to"},
      {"overlap_local_sgd:alpha=0", "above 0 and at most 1"},
      {"overlap_local_sgd:alpha=1.5", "alpha=0.6"},
      {"overlap_local_sgd:alpha=1", "never moves"},
      {"overlap_local_sgd:alpha=1,beta=0.7", "never moves"},
      {"overlap_local_sgd:beta=1", "beta=0.7"},
      {"overlap_local_sgd:cap_rescale=on", "use beta=0.7"},
      {"overlap_local_sgd:scope=grid", "use scope=all"},
      {"overlap_local_sgd:slots=average", "slots=reset"},
      {"cocod:scope=grid", "local_sgd:scope=grid"},
      {"diloco:scope=grid", "one for all workers"},
      {"diloco:outer_lr=0", "never move"},
      {"diloco:outer_momentum=1", "below 1"},
      {"slowmo:slow_lr=0", "above 0"},
      {"easgd:alpha=0", "never hear"},
      {"easgd:alpha=0.3", "2/(N+1) = 0.222222", 8},
      {"easgd:alpha=0.3", "1/N = 0.125", 8},
      {"easgd:alpha=0.3", "alpha=0.1125", 8},
      {"easgd:overlap=round,slots=average", "a round late"},
      {"local_sgd:inner=rack", "two racks or more"},
      {"local_sgd:inner=rack", "have 1+1+1+1", 4, 1},
      {"local_sgd:inner=rack,scope=grid", "divide racks", 4, 2},
      {"local_sgd:scope=grid", "at least 3 workers", 2},
      {"local_sgd:slots=average", "sgd without momentum", 4, 0, 0},
      {"local_sgd:algorithm=pair", "groups of 2"},
      {"local_sgd:alpha=0.5", "key"},
      {"local_sgd:scope=racks", "grid"}};
  for (const Refusal& refusal : refusals) {
    StrategySetting setting;
    setting.cluster.workers = refusal.workers;
    setting.cluster.topology = equal_racks(refusal.workers, refusal.per_rack);
    setting.update->momentum = refusal.momentum;
    try {
      prepare_strategy(refusal.spec, setting);
      ADD_FAILURE() << refusal.spec << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(refusal.reason), std::string::npos)
          << refusal.spec << ": " << error.what();
    }
  }
}

std::string refusal_of(const char* spec, const StrategySetting& setting) {
  try {
    prepare_strategy(spec, setting);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LocalSteps, RefusesARunThatWouldEndBeforeWorkersMeet) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  setting.cluster.topology = in_racks({4, 4});
  setting.steps = 100;
  EXPECT_EQ(refusal_of("diloco", setting),
            "strategy 'diloco': tau is 500, but the run has 100 steps, so its workers would never "
            "exchange anything; give tau=100 or less, or --steps 500 or more.");
  EXPECT_NE(refusal_of("local_sgd:tau=101,inner=rack", setting).find("its racks would never"),
            std::string::npos);
  for (const StrategyEntry& preset : local_sgd_entries()) {
    const std::string late = preset.info.name + ":warmup=0,tau=101";
    const std::string in_time = preset.info.name + ":warmup=0,tau=100";
    EXPECT_NE(refusal_of(late.c_str(), setting).find("tau=100 or less"), std::string::npos) << late;
    EXPECT_EQ(refusal_of(in_time.c_str(), setting), "accepted");
  }
  EXPECT_EQ(refusal_of("post_local_sgd:warmup=96", setting), "accepted");
  for (const char* spec :
       {"post_local_sgd:warmup=97", "diloco:warmup=1", "local_sgd:tau=96,warmup=5"})
    EXPECT_NE(refusal_of(spec, setting).find("after its warm-up"), std::string::npos) << spec;
  setting.steps = 0;
  EXPECT_EQ(refusal_of("diloco", setting), "accepted") << "nobody knows how many steps there are";
  setting.steps = 100;
  setting.cluster.workers = 1;
  setting.cluster.topology = {};
  EXPECT_EQ(refusal_of("diloco", setting), "accepted") << "one worker has nobody to meet";
}

// Whatever is not refused does exchange within its steps.
TEST(LocalSteps, EveryStrategySendsWithinTheFewestStepsThatItAccepts) {
  StrategySetting setting;
  setting.cluster.workers = 3;
  for (const SpecInfo& info : known_strategies()) {
    if (traits_of(info.name).pace == Pace::own) continue;  // Their workers exchange at every step.
    for (setting.steps = 1; refusal_of(info.name.c_str(), setting) != "accepted";)
      ASSERT_LT(++setting.steps, 1000) << info.name;
    const Descended run = descend(
        {.spec = info.name, .workers = 3, .steps = static_cast<int>(setting.steps), .size = 6});
    std::int64_t sent = 0;
    for (const Meter::Total& each : run.traffic) sent += each.bytes_sent;
    EXPECT_GT(sent, 0) << info.name << " in " << setting.steps;
  }
}

TEST(LocalSteps, AcceptsTheEdgesOfWhatIsDefined) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  setting.cluster.topology = in_racks({4, 4});
  setting.update->momentum = 0.9;
  for (const SpecInfo& info : known_strategies())
    EXPECT_NO_THROW(prepare_strategy(info.name, setting)) << info.name;
  for (const char* spec :
       {"easgd:alpha=0.2222222", "overlap_local_sgd:alpha=0.999,beta=0.999", "cocod:slots=reset",
        "local_sgd:tau=1,scope=grid", "diloco:inner=rack", "slowmo:statistics=recompute"})
    EXPECT_NO_THROW(prepare_strategy(spec, setting)) << spec;
}

}  // namespace
}  // namespace huddle
