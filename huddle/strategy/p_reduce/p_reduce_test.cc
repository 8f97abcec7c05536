#include "huddle/strategy/p_reduce/p_reduce.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

struct Trial {
  std::string spec = "p_reduce";
  int workers = 4;
  std::int64_t steps = 12;
  std::int64_t size = 60;
  Seconds compute = 0;
  std::vector<Slowdown> slowdowns = {};
  std::vector<Death> deaths = {};
  ThreadsOptions::Native native = ThreadsOptions::Native::on;
  int home = 0;                // Beside whom the controller runs.
  std::int64_t resume_at = 0;  // As if saved after so many steps; 0: from the beginning.
};

// What one worker came to; nothing of one that died.
struct Finished {
  at::Tensor parameters;
  at::Tensor statistics;
  std::vector<Outcome> outcomes;
  Meter::Total traffic;
  Archive archive;
};

struct Result {
  std::vector<Finished> workers;
  std::vector<Loss> losses;
  std::map<std::string, double> figures;

  std::int64_t steps() const {
    return std::accumulate(workers.begin(), workers.end(), std::int64_t{0},
                           [](std::int64_t sum, const Finished& worker) {
                             return sum + static_cast<std::int64_t>(worker.outcomes.size());
                           });
  }
};

// The group's size, and the same while workers go on.
const char* const kBothForms[] = {"p_reduce:group=3",
                                  "p_reduce:group=3,weights=constant,hide=step"};

Archive archive_after(std::int64_t steps) {
  return {.tensors = {}, .numbers = {{"p_reduce_iteration", steps}, {"p_reduce_steps", steps}}};
}

// Until the strategy says that training is over.
void train(Endpoint& endpoint, const Trial& trial, Finished& worker, Result& result) {
  const int self = endpoint.self().value;
  const auto zeros = [](std::int64_t size) { return at::zeros({size}, at::kDouble); };
  Replica replica(zeros(trial.size), zeros(trial.size), zeros(2), {trial.size},
                  UpdateRule({.learning_rate = 0.1, .momentum = 0.9}));
  StepLoop loop(endpoint, replica, trial.spec,
                {.averaging = {.deadline = {20}},
                 .steps = trial.steps,
                 .compute = {.per_step = trial.compute, .backward_share = 0},
                 .home = {trial.home}});
  Strategy& strategy = loop.strategy();
  if (trial.resume_at > 0) strategy.load(archive_after(trial.resume_at));
  const bool has_own_pace = loop.traits().pace == Pace::own;
  bool go_on = true;
  while (go_on && (has_own_pace || loop.next_step().value < trial.steps)) {
    const auto step = static_cast<int>(loop.next_step().value);
    loop.begin();
    replica.gradients().copy_(towards_own_number(self, step, replica.parameters()));
    replica.statistics().add_(self + 1.0);
    loop.replay_backward();
    worker.outcomes.push_back(loop.end());
    go_on = worker.outcomes.back().go_on;
  }
  loop.finish();
  worker.parameters = replica.parameters();
  worker.statistics = replica.statistics();
  worker.traffic = loop.take_traffic();
  strategy.save(worker.archive);
  if (self == trial.home) result.figures = strategy.figures();
}

Result run(const Trial& trial) {
  ThreadsOptions engine;
  engine.cluster.workers = trial.workers;
  engine.cluster.slowdowns = trial.slowdowns;
  engine.cluster.deaths = trial.deaths;
  engine.cluster.compute_per_step = trial.compute;
  engine.native = trial.native;
  Result result;
  result.workers.resize(static_cast<std::size_t>(trial.workers));
  result.losses = make_threads_launcher(engine)->run([&](Endpoint& endpoint) {
    train(endpoint, trial, result.workers[static_cast<std::size_t>(endpoint.self().value)], result);
  });
  return result;
}

double difference(const Result& a, const Result& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.workers.size(); ++i)
    largest = std::max(
        largest, (a.workers[i].parameters - b.workers[i].parameters).abs().max().item<double>());
  return largest;
}

std::string refusal(const std::string& spec, int workers) {
  Cluster cluster;
  cluster.workers = workers;
  try {
    prepare_strategy(spec, {cluster, {}});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PReduce, WithEverybodyInOneGroupIsGlobalAveraging) {
  for (const int workers : {2, 3, 4, 5, 8}) {
    const std::string spec = "p_reduce:weights=constant,group=" + std::to_string(workers);
    const Result partial = run({.spec = spec, .workers = workers});
    const Result global = run({.spec = "local_sgd:tau=1,algorithm=default", .workers = workers});
    EXPECT_EQ(difference(partial, global), 0) << workers;
    EXPECT_EQ(partial.steps(), workers * 12);
  }
}

TEST(PReduce, GivesTheSameBitsThroughMessages) {
  Trial trial{.spec = "p_reduce:group=5", .workers = 5};
  const Result in_memory = run(trial);
  trial.native = ThreadsOptions::Native::off;
  EXPECT_EQ(difference(in_memory, run(trial)), 0);
}

TEST(PReduce, AveragesStatisticsToo) {
  const Result result = run({.spec = "p_reduce:group=4,weights=constant", .steps = 3});
  for (const Finished& worker : result.workers)
    EXPECT_DOUBLE_EQ(worker.statistics[0].item<double>(), 3 * 2.5);
}

TEST(PReduce, EndsWhenAllWorkersTogetherHaveTakenTheirSteps) {
  for (const char* spec : {"p_reduce:group=2", "p_reduce:group=3,filter=off", "p_reduce",
                           "p_reduce:group=2,weights=constant,hide=step"}) {
    const Result result = run({.spec = spec, .workers = 5, .steps = 40});
    EXPECT_GE(result.steps(), 5 * 40) << spec;
    EXPECT_LE(result.steps(), 5 * 40 + 4) << spec;
    for (const Finished& worker : result.workers) {
      EXPECT_FALSE(worker.outcomes.back().go_on);
      EXPECT_GT(worker.outcomes.back().progress, 40 - 1);
      EXPECT_LE(worker.outcomes.back().progress, 40 + 4. / 5);
    }
  }
}

TEST(PReduce, LetsFastWorkersTakeTheStepsOfSlowOnes) {
  const Result result = run({.spec = "p_reduce:group=2",
                             .workers = 4,
                             .steps = 30,
                             .compute = 0.002,
                             .slowdowns = {{.worker = {3}, .factor = 50}}});
  EXPECT_LT(result.workers[3].outcomes.size() * 2, result.workers[1].outcomes.size());
  EXPECT_GT(result.workers[1].traffic.time.wait, 0);
  EXPECT_LT(result.figures.at("p_reduce.share.3"), 0.2);
  EXPECT_GT(result.figures.at("p_reduce.staleness"), 0.1);
}

TEST(PReduce, MembersOfAGroupTellTheSameMeetingWhateverTheirPace) {
  const Result result = run({.spec = "p_reduce:group=2",
                             .workers = 4,
                             .steps = 20,
                             .compute = 0.002,
                             .slowdowns = {{.worker = {3}, .factor = 10}}});
  std::map<std::int64_t, std::pair<Group, std::vector<WorkerId>>> meetings;
  for (std::size_t worker = 0; worker < result.workers.size(); ++worker)
    for (const Outcome& outcome : result.workers[worker].outcomes) {
      ASSERT_TRUE(outcome.meeting);
      auto& [group, members] = meetings[*outcome.meeting];
      EXPECT_TRUE(members.empty() || group == outcome.group);
      group = outcome.group;
      members.push_back({static_cast<int>(worker)});
    }
  for (const auto& [meeting, who] : meetings) EXPECT_EQ(who.first, Group(who.second)) << meeting;
}

TEST(PReduce, TellsWhatItCounted) {
  const Result result = run({.spec = "p_reduce:group=2,window=3", .steps = 25});
  std::int64_t members = 0;
  for (const Finished& worker : result.workers)
    members += static_cast<std::int64_t>(worker.outcomes.size());
  double shares = 0;
  for (int worker = 0; worker < 4; ++worker)
    shares += result.figures.at("p_reduce.share." + std::to_string(worker));
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_NEAR(result.figures.at("p_reduce.groups") * result.figures.at("p_reduce.group_size"),
              static_cast<double>(members), 1e-6);
  EXPECT_LT(result.figures.at("p_reduce.rho"), 1);
  EXPECT_NEAR(result.figures.at("p_reduce.rho_random"), 2. / 3, 0.05);
  EXPECT_EQ(result.figures.at("p_reduce.aborted"), 0);
}

TEST(PReduce, GoesOnWhereACheckpointWasSaved) {
  const Result result = run({.spec = "p_reduce:group=4", .steps = 10, .resume_at = 7});
  EXPECT_EQ(result.steps(), 4 * 3);
  EXPECT_EQ(result.workers[1].outcomes.front().progress, 8);
  for (const Finished& worker : result.workers)
    EXPECT_EQ(worker.archive.numbers, archive_after(10).numbers);
}

TEST(PReduce, MustKnowTheNumberOfSteps) {
  try {
    run({.steps = 0});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("AttachOptions::steps"), std::string::npos);
  }
}

TEST(PReduce, RefusesWhatCannotWork) {
  EXPECT_EQ(refusal("p_reduce", 8), "accepted");
  EXPECT_EQ(refusal("p_reduce:group=8,window=1", 8), "accepted");
  const std::pair<const char*, const char*> refused[] = {
      {"p_reduce:group=1", "from 2 to 1048576"},
      {"p_reduce:group=4294967298", "group='4294967298' is not a whole number from 2 to 1048576"},
      {"p_reduce:group=9", "give 2 to 8"},
      {"p_reduce:group=3,window=3", "ceil((8-1)/(3-1)) = 4"},
      {"p_reduce:window=0", "nor 'auto'"},
      {"p_reduce:window=4x", "nor 'auto'"},
      {"p_reduce:decay=0", "above 0 and below 1"},
      {"p_reduce:decay=1", "above 0 and below 1"},
      {"p_reduce:decay=1.5", "decay='1.5' is not a number above 0 and below 1"},
      {"p_reduce:decay=-1", "above 0 and below 1"},
      {"p_reduce:algorithm=pair", "algorithm"},
      {"p_reduce:group=3,window=4,filter=off", "use filter=on, or leave window out"},
      {"p_reduce:weights=constant,decay=0.5", "use weights=dynamic, or leave decay out"},
      {"p_reduce:weights=constant,policy=skip", "use weights=dynamic, or leave policy out"},
      {"p_reduce:weights=dynamic,hide=step", "add weights=constant"},
      {"p_reduce:form=paper,hide=step", "add weights=constant"},
      {"p_reduce:decay=0.5", "use weights=dynamic, or leave decay out"},
  };
  for (const auto& [spec, reason] : refused)
    EXPECT_NE(refusal(spec, 8).find(reason), std::string::npos) << spec << ": " << refusal(spec, 8);
  EXPECT_NE(refusal("p_reduce", 1).find("2 or more workers"), std::string::npos);
}

TEST(HiddenPReduce, IsRefusedWhereNobodyWouldMeet) {
  StrategySetting setting;
  setting.cluster.workers = 4;
  const auto refused = [&](const char* spec, std::int64_t steps) {
    setting.steps = steps;
    try {
      prepare_strategy(spec, setting);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("p_reduce:hide=step", 1).find("give --steps 2 or more"), std::string::npos);
  EXPECT_NE(refused("p_reduce:hide=step,warmup=9", 10).find("give --steps 11 or more"),
            std::string::npos);
  EXPECT_EQ(refused("p_reduce:hide=step,warmup=9", 11), "");
  EXPECT_EQ(refused("p_reduce:warmup=9", 10), "") << "one exchange that is not hidden";
  EXPECT_EQ(refused("p_reduce:hide=step", 0), "") << "nobody knows yet";
}

// Deaths at random moments: computing, queued, in a group, averaging. Nothing hangs, and the
// survivors take the steps that the lost worker does not.
TEST(PReduce, GoesOnWhenAWorkerDiesAtAnyMoment) {
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    const WorkerId victim{1 + round % 4};
    const Time time = 0.002 + 0.03 * random.uniform();
    const Result result =
        run({.spec = kBothForms[round / 10],
             .workers = 5,
             .steps = 20,
             .size = 200'000,
             .compute = 0.002,
             .deaths = {{.worker = victim, .time = time}},
             .native = round % 2 == 0 ? ThreadsOptions::Native::on : ThreadsOptions::Native::off});
    ASSERT_EQ(result.losses.size(), 1u) << "died after " << time << " s";
    EXPECT_EQ(result.losses[0].worker, victim);
    EXPECT_NE(result.losses[0].reason.find("worker " + std::to_string(victim.value) + " died"),
              std::string::npos);
    EXPECT_GE(result.steps(), 5 * 20 - 2);  // The victim's last steps may have had no group.
    EXPECT_LE(result.steps(), 5 * 20 + 4);
    for (std::size_t worker = 0; worker < 5; ++worker)
      EXPECT_EQ(result.workers[worker].parameters.defined(),
                static_cast<int>(worker) != victim.value);
  }
}

// After each of its operations in one step: the request, the wait for a group, the average.
TEST(PReduce, GoesOnWhenAWorkerDiesInsideAnExchange) {
  for (int round = 0; round < 12; ++round) {
    const int operations = round % 6;
    const Result result =
        run({.spec = kBothForms[round / 6],
             .workers = 4,
             .steps = 15,
             .deaths = {{.worker = {2}, .step = {4}, .after_operations = operations}},
             .native = ThreadsOptions::Native::off});
    ASSERT_EQ(result.losses.size(), 1u) << operations;
    EXPECT_GE(result.steps(), 4 * 15 - 2);
    EXPECT_FALSE(result.workers[2].parameters.defined());
  }
}

TEST(PReduce, GoesOnAloneWhenEverybodyElseDies) {
  const Result result =
      run({.spec = "p_reduce:group=2",
           .workers = 3,
           .steps = 10,
           .deaths = {{.worker = {1}, .step = {3}}, {.worker = {2}, .step = {5}}}});
  EXPECT_EQ(result.losses.size(), 2u);
  EXPECT_EQ(result.steps(), 30);
  EXPECT_EQ(result.workers[0].outcomes.back().group, Group::everyone(1));
}

TEST(PReduce, NamesTheControllerWhenItsWorkerDies) {
  for (const char* spec : kBothForms) try {
      run({.spec = spec, .workers = 4, .deaths = {{.worker = {0}, .step = {5}}}});
      FAIL() << "nobody noticed";
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer(), WorkerId{0});
      EXPECT_NE(std::string(lost.what()).find("worker 0 ran the controller"), std::string::npos);
      EXPECT_NE(std::string(lost.what()).find("worker 0 died at step 5"), std::string::npos);
    }
}

TEST(HiddenPReduce, WithEverybodyInOneGroupIsCocod) {
  for (const int workers : {2, 3, 5}) {
    const std::string group = std::to_string(workers);
    const Result hidden =
        run({.spec = "p_reduce:weights=constant,hide=step,group=" + group, .workers = workers});
    const Result cocod = run({.spec = "cocod:tau=1,algorithm=default", .workers = workers});
    EXPECT_EQ(hidden.steps(), workers * 12);
    // At its end cocod does not take what is under way, and p_reduce reports one step less.
    EXPECT_EQ(difference(hidden, cocod), 0) << workers;
  }
}

TEST(HiddenPReduce, LosesNoUpdateAndLeavesTheMeanAsItWas) {
  for (const char* spec : {"p_reduce:weights=constant,hide=step,group=2",
                           "p_reduce:weights=constant,hide=step,group=3,filter=off"}) {
    const Descended moved = descend({.spec = spec,
                                     .workers = 6,
                                     .steps = 60,
                                     .update = {.learning_rate = 1},
                                     .gradient = own_number_once,
                                     .compute = 0.0002,
                                     .run_steps = 1000});
    EXPECT_NEAR(first_of(mean_of(moved.parameters)), -2.5, 1e-9) << spec;
    EXPECT_LT(spread(moved.parameters), 0.5) << spec;
  }
}

TEST(PReduce, HasItsControllerBesideAnyWorker) {
  const Result result = run({.home = 3});
  EXPECT_GE(result.steps(), 4 * 12);
  EXPECT_GT(result.figures.at("p_reduce.groups"), 0);
  try {
    run({.steps = 40,
         .compute = 0.002,
         .deaths = {{.worker = {3}, .step = {4}, .time = {}}},
         .home = 3});
    ADD_FAILURE() << "a run without its controller went on";
  } catch (const PeerLost& lost) {
    EXPECT_NE(std::string(lost.what()).find("worker 3 ran the controller"), std::string::npos)
        << lost.what();
  }
}

}  // namespace
}  // namespace huddle
