// Groups whose averages travel behind the next steps.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <barrier>
#include <mutex>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/schedule/deviation.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/scheduled.h"
#include "tests/support/descent.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

// y <- W y - lr g(y), with y the models right after a correction: D-PSGD with a changing W.
TEST(HiddenGroups, FollowTheRecurrenceOfAveragingWhileAdapting) {
  Cluster cluster;
  cluster.workers = 8;
  for (const char* name : {"sesgd:hide=step", "ds_sync:hide=step", "sesgd:hide=step,global_every=3",
                           "random_groups:hide=step,group=3"}) {
    const Descended run = descend(
        {.spec = name, .workers = 8, .size = 1, .layers = 1, .update = {.learning_rate = 0.1}});
    const Schedule schedule = schedule_of(name, cluster);
    std::vector<double> y(8, 0);
    for (int step = 0; step < 12; ++step) {
      std::vector<double> next(8);
      for (int worker = 0; worker < 8; ++worker) {
        const auto at = static_cast<std::size_t>(worker);
        double mixed = y[at];
        if (step > 0) {
          const Group group = schedule.group_of({worker}, Step{step - 1});
          mixed = 0;
          for (const WorkerId member : group) mixed += y[static_cast<std::size_t>(member.value)];
          mixed /= group.size();
        }
        const at::Tensor x = at::full({1}, y[at], at::kDouble);
        next[at] = mixed - 0.1 * first_of(towards_own_number(worker, step, x));
      }
      y = next;
      for (std::size_t worker = 0; worker < 8; ++worker)
        EXPECT_NEAR(run.path[static_cast<std::size_t>(step)][worker], y[worker], 1e-12)
            << name << " at step " << step;
    }
  }
}

TEST(HiddenGroups, LeaveTheMeanWhereItWouldBe) {
  for (const char* name : {"sesgd:hide=step", "ds_sync:hide=step,every=3,slots=average"}) {
    const Descended run = descend({.spec = name,
                                   .workers = 8,
                                   .steps = 30,
                                   .update = {.learning_rate = 1, .momentum = 0.5},
                                   .gradient = own_number_once});
    // The first gradient counts 1 + 0.5 + 0.25 + ... times.
    EXPECT_NEAR(first_of(mean_of(run.parameters)), -2 * 3.5, 1e-6) << name;
    EXPECT_LT(spread(run.parameters), 1e-3) << name;
  }
}

TEST(HiddenGroups, OfEverybodyAreCocod) {
  const Descended cocod = descend({.spec = "cocod:tau=1,algorithm=ring"});
  const Descended hidden = descend({.spec = "sesgd:radix=4,hide=step"});
  EXPECT_EQ(cocod.path, hidden.path);
  const Descended cocod_of_3 = descend({.spec = "cocod:tau=3,algorithm=ring"});
  EXPECT_EQ(cocod_of_3.path, descend({.spec = "sesgd:radix=4,hide=step,every=3"}).path);
}

TEST(HiddenGroups, GiveTheSameBitsInMemoryAndOverMessages) {
  for (const char* name :
       {"sesgd:hide=step", "ds_sync:hide=step,slots=average", "ds_sync:hide=step,every=2"}) {
    Descent descent{.spec = name, .workers = 8, .compute = 0.0003};
    const Descended in_memory = descend(descent);
    descent.through = Descent::Through::messages;
    EXPECT_TRUE(same_bits(in_memory, descend(descent))) << name;
  }
}

TEST(HiddenGroups, GoOnFromACheckpointWithTheSameBits) {
  for (const char* name : {"sesgd:hide=step", "sesgd:hide=step,slots=average,every=2",
                           "sesgd:hide=step,slots=reset", "ds_sync:hide=step,warmup=3"})
    for (const int after : {1, 2, 3, 7}) {
      const Descended whole = descend({.spec = name});
      const Descended resumed = descend({.spec = name, .resume_after = after});
      EXPECT_TRUE(same_bits(whole, resumed)) << name << " after " << after;
      EXPECT_TRUE(at::equal(at::stack(whole.statistics), at::stack(resumed.statistics))) << name;
    }
}

TEST(HiddenGroups, GoOnWhereAWorkerSkips) {
  const Descended run = descend({.spec = "sesgd:hide=step",
                                 .update = {.learning_rate = 1},
                                 .gradient = one_everywhere,
                                 .skip = 5});
  EXPECT_NEAR(first_of(mean_of(run.parameters)), -(12 - 0.25), 1e-12);
}

// Worker i adds i + 1 to its statistics in each of 12 steps: the mean keeps every gain.
TEST(HiddenGroups, KeepTheGainsOfStatistics) {
  const Descended run = descend({.spec = "sesgd:hide=step"});
  EXPECT_NEAR(first_of(mean_of(run.statistics)), 12 * 2.5, 1e-9);
  EXPECT_LT(spread(run.statistics), 5);
}

// The mean of (x_i - mean)^2 over workers and meetings, of workers that add noise of variance 1.
TEST(HiddenGroups, SpreadAsPredicted) {
  const auto noise = [](int worker, int step, const at::Tensor& x) {
    Random random(3, {static_cast<std::uint64_t>(worker), static_cast<std::uint64_t>(step)});
    return at::full_like(x, random.normal());
  };
  Cluster cluster;
  cluster.workers = 8;
  for (const char* name : {"sesgd:hide=step", "ds_sync:hide=step", "sesgd:every=3",
                           "sesgd:hide=step,every=2", "sesgd"}) {
    const Descended run = descend({.spec = name,
                                   .workers = 8,
                                   .steps = 6000,
                                   .size = 1,
                                   .layers = 1,
                                   .update = {.learning_rate = 1},
                                   .gradient = noise});
    const Schedule schedule = schedule_of(name, cluster);
    double squares = 0;
    std::int64_t meetings = 0;
    for (int step = 600; step < 6000; ++step) {
      if (!schedule.meeting({step})) continue;
      const std::vector<double>& x = run.path[static_cast<std::size_t>(step)];
      const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 8;
      for (const double each : x) squares += (each - mean) * (each - mean) / 8;
      ++meetings;
    }
    const double predicted = deviation_at_meetings(schedule, *deviation_variance(schedule, 0));
    EXPECT_NEAR(squares / static_cast<double>(meetings) / predicted, 1, 0.05) << name;
  }
}

TEST(EveryKth, StepGroupsMeetAndGoOnInTheirSchedule) {
  const Descended run = descend({.spec = "sesgd:every=3", .steps = 9});
  Cluster cluster;
  cluster.workers = 4;
  const Schedule schedule = schedule_of("sesgd", cluster);
  for (int step = 0; step < 9; ++step)
    EXPECT_EQ(run.groups[static_cast<std::size_t>(step)],
              step % 3 == 2 ? schedule.group_of({0}, Step{step / 3}) : Group({WorkerId{0}}))
        << step;
  EXPECT_EQ(descend({.spec = "sesgd:radix=4,every=3,slots=keep"}).path,
            descend({.spec = "local_sgd:tau=3,algorithm=ring"}).path);
}

TEST(HiddenGroups, TellOfTheGroupWhoseAverageArrives) {
  Cluster cluster;
  cluster.workers = 4;
  const Schedule schedule = schedule_of("sesgd", cluster);
  const Descended run = descend({.spec = "sesgd:hide=step,every=2", .steps = 9});
  for (int step = 0; step < 9; ++step)
    EXPECT_EQ(run.groups[static_cast<std::size_t>(step)],
              step % 2 == 1 && step > 1 ? schedule.group_of({0}, Step{step / 2 - 1})
                                        : Group({WorkerId{0}}))
        << step;
}

// How many models' worth of large blocks are held at the first step and at most, for each worker.
struct Held {
  double at_first = 0;
  double at_most = 0;
};

Held held_by(const std::string& spec, int workers) {
  // 68 MB: always a block of its own, also where a heap is left from an earlier run.
  constexpr std::int64_t kSize = 8'500'000;
  const double before = static_cast<double>(mallinfo2().hblkhd);
  std::barrier all(workers);
  std::mutex mutex;
  Held held;
  const auto look = [&](double& most) {
    const std::lock_guard lock(mutex);
    const double bytes = static_cast<double>(mallinfo2().hblkhd) - before;
    most = std::max(most, bytes / (static_cast<double>(workers) * kSize * 8));
  };
  descend({.spec = spec,
           .workers = workers,
           .steps = 4,
           .size = kSize,
           .update = {.learning_rate = 0.1},
           .gradient =
               [&](int, int step, const at::Tensor& x) {
                 // All is made, and nothing has left yet.
                 if (step == 0) {
                   all.arrive_and_wait();
                   look(held.at_first);
                   all.arrive_and_wait();
                 }
                 look(held.at_most);
                 return x;  // Which needs no memory of its own.
               },
           .through = Descent::Through::messages});
  return held;
}

TEST(HiddenGroups, TakeTwoBuffersBeforeTheFirstStepAndOnlyMessagesLater) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  for (const int workers : {2, 4}) {
    const Held alone = held_by("local_sgd:tau=1000", workers);
    for (const char* wire : {"float", "bf16"}) {
      const std::string spec = concat("ds_sync:hide=step,radices=", workers, ",wire=", wire);
      const Held hidden = held_by(spec, workers);
      EXPECT_NEAR(hidden.at_first - alone.at_first, 2, 0.2) << spec;
      // Messages of peers that wait until the own ones have left: all of a model, if it is slow.
      EXPECT_LT(hidden.at_most - hidden.at_first, wire == std::string("bf16") ? 0.6 : 1.1) << spec;
    }
  }
}

TEST(HiddenGroups, RefuseWhatCannotWork) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  setting.steps = 20;
  setting.update->momentum = 0.9;
  for (const char* spec :
       {"sesgd:hide=step,overlap=backward,buckets=2", "sesgd:every=21",
        "sesgd:hide=step,payload=gradient", "sesgd:hide=step,order=before",
        "sesgd:hide=step,buckets=2", "sesgd:payload=gradient,every=2", "sesgd:every=14,warmup=15"})
    EXPECT_THROW(prepare_strategy(spec, setting), UsageError) << spec;
  EXPECT_NO_THROW(prepare_strategy("sesgd:hide=step,every=20,slots=reset", setting));
  const std::string twice =
      refusal([&] { prepare_strategy("sesgd:hide=step,overlap=backward", setting); });
  EXPECT_NE(twice.find("leave overlap out"), std::string::npos) << twice;
}

}  // namespace
}  // namespace huddle
