// DS-Sync and SESGD on flat tensors: they mix as their schedules promise, send what the analysis
// says, and every variant agrees.

#include "huddle/strategy/scheduled.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/schedule/traffic.h"
#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"
#include "tests/support/equal_racks.h"

namespace huddle {
namespace {

TEST(Scheduled, AnExactScheduleAgreesAfterOnePeriodWithoutGradients) {
  // Different at step 0, nothing after it: everything that differed must be gone after the period.
  const auto once = [](int worker, int step, const at::Tensor& x) {
    return step == 0 ? at::full_like(x, worker) : at::zeros_like(x);
  };
  for (const auto& [spec, workers, period] :
       std::vector<std::tuple<std::string, int, int>>{{"ds_sync", 4, 2},
                                                      {"ds_sync", 16, 2},
                                                      {"ds_sync:radices=2x2x3", 12, 3},
                                                      {"ds_sync:schedule=halves", 8, 2},
                                                      {"sesgd", 8, 3},
                                                      {"sesgd:radix=3", 9, 2}}) {
    const Descent setup{.spec = spec,
                        .workers = workers,
                        .steps = period,
                        .update = {.learning_rate = 1},
                        .gradient = once,
                        .statistics_until = 1};
    const Descended result = descend(setup);
    EXPECT_LT(spread(result.parameters), 1e-12) << spec;
    EXPECT_NEAR(result.parameters[0][0].item<double>(), -(workers - 1) / 2.0, 1e-12) << spec;
    EXPECT_LT(spread(result.statistics), 1e-12) << spec << ": statistics are averaged too";
    Descent shorter = setup;
    shorter.steps = period - 1;
    EXPECT_GT(spread(descend(shorter).parameters), 1e-3) << spec;
  }
}

TEST(Scheduled, TheMeanMovesAsTheMeanGradientSaysWhateverTheGroups) {
  const auto noise = [](int worker, int step, const at::Tensor& x) {
    return at::full_like(x, std::sin(7.0 * worker + step));
  };
  for (const char* spec :
       {"ds_sync", "ds_sync:schedule=random", "ds_sync:schedule=fixed", "sesgd"}) {
    const Descended result = descend({.spec = spec,
                                      .workers = 7,
                                      .steps = 9,
                                      .update = {.learning_rate = 0.1},
                                      .gradient = noise});
    double expected = 0;
    for (int step = 0; step < 9; ++step)
      for (int worker = 0; worker < 7; ++worker)
        expected -= 0.1 * std::sin(7.0 * worker + step) / 7;
    EXPECT_NEAR(mean_of(result.parameters)[0].item<double>(), expected, 1e-12) << spec;
  }
}

TEST(Scheduled, SendsExactlyWhatTheAnalysisSays) {
  for (const auto& [spec, workers] :
       std::vector<std::pair<std::string, int>>{{"ds_sync:form=paper", 4},
                                                {"ds_sync:form=paper", 6},
                                                {"ds_sync:form=paper,radices=4x4", 16},
                                                {"sesgd:form=paper", 8},
                                                {"ds_sync:form=paper", 7}}) {
    Cluster cluster;
    cluster.workers = workers;
    const Schedule schedule = schedule_of(spec, cluster);
    const int periods = 2;
    const Descended result = descend({.spec = spec,
                                      .workers = workers,
                                      .steps = static_cast<int>(periods * schedule.period()),
                                      .statistics = 0,
                                      .through = Descent::Through::messages});
    for (int worker = 0; worker < workers; ++worker) {
      std::int64_t messages = 0;
      double bytes = 0;
      for (int phase = 0; phase < schedule.period(); ++phase) {
        const int members = schedule.group_of(WorkerId{worker}, Step{phase}).size();
        const Traffic traffic = group_traffic(members);
        messages += periods * traffic.messages;
        bytes += periods * traffic.bytes * (60 * 8);
      }
      const Meter::Total& counted = result.traffic[static_cast<std::size_t>(worker)];
      EXPECT_NEAR(static_cast<double>(counted.bytes_sent), bytes,
                  16 * 8 * periods * schedule.period())  // Rounding of segments.
          << spec << " worker " << worker;
      EXPECT_EQ(counted.messages_sent, messages) << spec << " worker " << worker;
    }
  }
}

// Of float32; the descent has float64, which travels in the same formats where they are named.
TEST(Scheduled, SendsWhatTheAnalysisSaysInEveryFormat) {
  constexpr int kWorkers = 16;
  constexpr std::int64_t kSize = 16 * 4096;  // A segment is a number of blocks.
  StrategySetting setting;
  setting.cluster.workers = kWorkers;
  setting.update->momentum = 0.9;
  for (const char* spec :
       {"ds_sync", "sesgd", "sesgd:wire=int8", "ds_sync:hide=step",
        "sesgd:slots=average,slots_wire=same,every=2,buckets=2",
        "bsp:algorithm=ring,buckets=2,wire=bf16", "bsp:algorithm=ring,buckets=1,wire=int8"}) {
    const ScheduleTraffic told = schedule_traffic(schedule_of(spec, setting));
    // The first meetings of pairs in int8 send bfloat16.
    const bool is_learning = std::string(spec) == "sesgd:wire=int8";
    const int steps = is_learning ? 80 : 8;
    const Descended run = descend({.spec = settled(spec, setting),
                                   .workers = kWorkers,
                                   .steps = steps,
                                   .size = kSize,
                                   .statistics = 0});
    const double bytes = static_cast<double>(run.traffic[0].bytes_sent) / steps / (4 * kSize);
    const double messages = static_cast<double>(run.traffic[0].messages_sent) / steps;
    EXPECT_NEAR(bytes / told.bytes, 1, is_learning ? 0.06 : 0.002) << spec;
    EXPECT_DOUBLE_EQ(messages, told.messages) << spec;
    EXPECT_DOUBLE_EQ(told.sequential_messages, told.messages) << spec;
  }
}

TEST(Scheduled, ShowsTheScheduleOfEveryStrategyThatHasOne) {
  Cluster cluster;
  cluster.workers = 8;
  cluster.topology = in_racks({4, 4});
  EXPECT_EQ(schedule_of("bsp", cluster).partition(Step{3}), (Partition{Group::everyone(8)}));
  EXPECT_EQ(schedule_of("ds_sync:schedule=rotating", cluster).period(), 4);
  EXPECT_EQ(schedule_of("sesgd", cluster).period(), 3);
  EXPECT_EQ(schedule_of("random_groups:group=2", cluster).partition(Step{0}).size(), 4u);
  for (const SpecInfo& info : known_strategies()) {
    const auto with = strategies_with_schedule();
    if (std::find(with.begin(), with.end(), info.name) != with.end()) {
      EXPECT_EQ(schedule_of(info.name, cluster).members().size(), 8);
      continue;
    }
    try {
      schedule_of(info.name, cluster);
      ADD_FAILURE() << info.name << " was accepted";
    } catch (const UsageError& error) {
      for (const std::string& word : {info.name, info.summary, std::string("random_groups")})
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(Scheduled, ChecksAnAlgorithmWithoutGoingThroughThePeriod) {
  Cluster cluster;
  cluster.workers = 430;
  cluster.topology = in_racks({215, 215});
  const std::string thinned = "ds_sync:schedule=rotating,cross_every=1000,global_every=10000";
  EXPECT_NO_THROW(prepare_strategy(thinned + ",algorithm=leader", {cluster, {}, 0}));
  EXPECT_NO_THROW(prepare_strategy(thinned + ",algorithm=halving_doubling", {cluster, {}, 0}));
}

TEST(Scheduled, OverlapWithBackwardChangesNoBits) {
  for (const char* spec : {"ds_sync:buckets=3", "ds_sync:buckets=2,slots=average",
                           "sesgd:buckets=3,slots=reset", "sesgd:buckets=2,warmup=3"}) {
    const Descent plain{.spec = spec, .workers = 8, .layers = 3};
    Descent overlapped = plain;
    overlapped.spec += ",overlap=backward";
    Descent messages = overlapped;
    messages.through = Descent::Through::messages;
    EXPECT_TRUE(same_bits(descend(plain), descend(overlapped))) << spec;
    EXPECT_TRUE(same_bits(descend(plain), descend(messages))) << spec;
  }
}

TEST(Scheduled, BeforeIsTheSameRecurrenceHalfAStepLater) {
  // After: step, average, step, average ... Before: average (of equal models), step, average, step
  // ... One more average makes them equal.
  const Descended after =
      descend({.spec = "sesgd", .workers = 4, .steps = 2, .update = {.learning_rate = 0.1}});
  const Descended before = descend(
      {.spec = "sesgd:order=before", .workers = 4, .steps = 2, .update = {.learning_rate = 0.1}});
  EXPECT_GT(spread(before.parameters), 1e-3) << "before ends on a local step";
  EXPECT_NEAR(mean_of(before.parameters)[0].item<double>(),
              mean_of(after.parameters)[0].item<double>(), 0.05);
}

TEST(Scheduled, AblationsDriftApartAndTheScheduleDoesNot) {
  const auto noise = [](int worker, int step, const at::Tensor& x) {
    Random random(1, {static_cast<std::uint64_t>(worker), static_cast<std::uint64_t>(step)});
    return at::full_like(x, random.normal());
  };
  const auto drift = [&](const char* spec) {
    return spread(descend({.spec = spec,
                           .workers = 16,
                           .steps = 400,
                           .update = {.learning_rate = 1},
                           .gradient = noise})
                      .parameters);
  };
  const double mixed = drift("ds_sync");
  EXPECT_GT(drift("ds_sync:schedule=fixed"), 5 * mixed);
  EXPECT_GT(drift("sesgd:payload=gradient"), 5 * mixed);
}

// The ablation that must fail averages gradients alone. No key may make it average models too, or
// seem to.
TEST(Scheduled, TheGradientAblationTakesNoKeyThatIsAboutModels) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  setting.update->momentum = 0.9;
  const std::pair<const char*, const char*> refusals[] = {
      {"ds_sync:order=before,payload=gradient", "use payload=model, or leave order out"},
      {"sesgd:order=after,payload=gradient", "use payload=model, or leave order out"},
      {"sesgd:payload=gradient,slots=average", "use payload=model, or leave slots out"},
      {"random_groups:payload=gradient,slots=reset", "use payload=model, or leave slots out"}};
  for (const auto& [spec, way_out] : refusals) {
    try {
      prepare_strategy(spec, setting);
      ADD_FAILURE() << spec << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(way_out), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW(prepare_strategy("sesgd:payload=gradient,slots=keep,warmup=3", setting));
}

TEST(Scheduled, RefusesContradictions) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  const auto refused = [&](const char* spec) {
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;
  };
  EXPECT_NO_THROW(prepare_strategy("ds_sync", setting));
  EXPECT_NO_THROW(prepare_strategy("ds_sync:schedule=fixed", setting)) << "the ablation may be run";
  refused("ds_sync:slots=average");  // Plain SGD has no slots.
  refused("ds_sync:radices=3x3");
  refused("ds_sync:radices=1x8");
  refused("ds_sync:schedule=gird");
  refused("ds_sync:overlap=backward,order=before");
  refused("ds_sync:overlap=backward,payload=gradient");
  refused("ds_sync:overlap=backward");  // One bucket: nothing to overlap with.
  refused("sesgd:radix=1");
  setting.clip_norm = 1;
  refused("sesgd:overlap=backward");
  setting.update->momentum = 0.9;
  EXPECT_NO_THROW(prepare_strategy("ds_sync:slots=average", setting));
}

}  // namespace
}  // namespace huddle
