// Whole runs in this process: they learn, they repeat bit for bit, they resume bit for bit.

#include "huddle/train/trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_run.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;

// The state of worker 0 after the run.
NamedTensors final_state(Setting run) {
  const ScratchFolder folder;
  run.options.save = CheckpointFolder(folder.path());
  run.options.save->prepare();
  EXPECT_FALSE(train(run).error);
  return states_in(folder.path())(WorkerId{0});
}

void expect_equal(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
}

TEST(Trainer, LearnsDigitsAndTellsWhatItCameTo) {
  Setting run = small_run(3);
  run.options.steps = 150;
  run.options.evaluate_every = 60;
  std::mutex mutex;
  std::vector<StepRecord> records;
  const TrainResult result = train(run, [&](const StepRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  });
  EXPECT_FALSE(result.error);
  EXPECT_EQ(records.size(), 450u);
  EXPECT_GT(result.summary.consensus->accuracy, 0.9);
  EXPECT_EQ(result.summary.by_worker.size(), 3u);
  EXPECT_EQ(result.summary.drift, 0.0) << "synchronous workers never drift";
  EXPECT_EQ(result.summary.steps_done, 150);
  EXPECT_GT(result.summary.samples_per_second, 0);
  EXPECT_GT(result.summary.bytes_sent_per_worker, 0);
  for (const StepRecord& record : records) {
    EXPECT_EQ(record.group, Group::everyone(3));
    EXPECT_EQ(record.progress, record.step.value + 1);
  }
  ASSERT_EQ(result.summary.curve.size(), 3u);
  EXPECT_EQ(result.summary.curve[0].progress, 60);
  EXPECT_EQ(result.summary.curve[1].progress, 120);
  EXPECT_EQ(result.summary.curve[2].progress, 150) << "the end is always there";
  EXPECT_GT(result.summary.curve[0].consensus.loss, result.summary.curve[2].consensus.loss);
  EXPECT_GT(result.summary.curve[1].time, result.summary.curve[0].time);
  EXPECT_EQ(result.summary.curve[1].drift, 0);
  EXPECT_EQ(result.summary.curve[2].consensus.loss, result.summary.consensus->loss);
}

TEST(Trainer, RepeatsBitForBit) {
  const Setting run = small_run(3);
  expect_equal(final_state(run), final_state(run));
  Setting other = run;
  other.problem.seed = 4;
  EXPECT_FALSE(at::equal(final_state(run).at("module/scores.weight"),
                         final_state(other).at("module/scores.weight")));
}

TEST(Trainer, AResumedRunGivesTheBitsOfAnUninterruptedOne) {
  for (const char* model : {"mlp:hidden=32", "cnn:channels=2"})
    for (const UpdateOptions::Kind kind : {UpdateOptions::Kind::sgd, UpdateOptions::Kind::adamw}) {
      Setting run = small_run(2);
      run.problem.model = model;
      run.options.update = {.kind = kind,
                            .learning_rate = 0.01,
                            .momentum = kind == UpdateOptions::Kind::sgd ? 0.9 : 0};
      run.options.accumulate = 2;
      run.options.schedule = "step:every=15";
      run.options.swa_start = 5;
      run.options.swa_every = 4;
      const ScratchFolder folder;
      Setting first = run;
      first.options.steps = 13;
      first.options.save = CheckpointFolder(folder.path());
      first.options.save->prepare();
      ASSERT_FALSE(train(first).error);
      Setting second = run;
      second.options.resume = states_in(folder.path());
      expect_equal(final_state(second), final_state(run));
    }
}

TEST(Trainer, KeepsNoStateThatItHasResumedFrom) {
  const ScratchFolder folder;
  Setting run = small_run(2);
  run.options.save = CheckpointFolder(folder.path());
  run.options.save->prepare();
  ASSERT_FALSE(train(run).error);
  run.options.save.reset();
  run.options.steps = 43;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> given[2];
  run.options.resume = [&, states = states_in(folder.path())](WorkerId worker) {
    NamedTensors state = states(worker);
    for (const auto& [name, tensor] : state)
      given[worker.value].emplace_back(tensor.storage().getWeakStorageImpl());
    return state;
  };
  const TrainResult result = train(run, [&](const StepRecord& record) {
    for (const auto& each : given[record.worker.value]) EXPECT_TRUE(each.expired());
  });
  ASSERT_FALSE(result.error);
  EXPECT_GT(given[1].size(), 3u);
}

TEST(Trainer, EvaluatesTheMeanOfModelsFromAChosenStepOn) {
  Setting run = small_run(2);
  run.problem.model = "cnn:channels=4";
  run.options.steps = 80;
  const TrainResult without = train(run);
  EXPECT_FALSE(without.summary.swa);
  run.options.swa_start = 40;
  run.options.swa_every = 10;
  const TrainResult with = train(run);
  ASSERT_FALSE(with.error);
  ASSERT_TRUE(with.summary.swa);
  EXPECT_GT(with.summary.swa->accuracy, 0.9) << "statistics must fit the mean model";
  EXPECT_NE(with.summary.swa->loss, with.summary.consensus->loss);
  EXPECT_EQ(with.summary.consensus->loss, without.summary.consensus->loss)
      << "keeping a mean must not change the training";
}

// The slow worker takes no step at all after the mean has begun, by its own count or by the clock.
TEST(Trainer, KeepsMeansOfModelsWhereEachWorkerHasItsPace) {
  for (const char* strategy : {"p_reduce:group=2", "asp", "ssp:bound=50", "ad_psgd", "eager"}) {
    Setting run = small_run(4);
    run.options.strategy = strategy;
    run.options.update.learning_rate = 0.01;
    run.options.compute = {.per_step = 0.001};
    run.engine.cluster.slowdowns = {{.worker = {3}, .factor = 20}};
    run.options.swa_start = 30;
    const TrainResult result = train(run);
    if (result.error) std::rethrow_exception(result.error);
    ASSERT_TRUE(result.summary.swa) << strategy;
    EXPECT_GT(result.summary.swa->accuracy, 0.25) << strategy << " of ten classes";
  }
}

// Statistics do not enter the training, so that both runs end with the same parameters.
TEST(Trainer, MeasuresStatisticsAnewWhereTheStrategySaysSo) {
  Setting run = small_run(3);
  run.problem.model = "cnn:channels=4";
  run.options.steps = 80;
  run.options.strategy = "overlap_local_sgd:statistics=keep";
  const TrainResult kept = train(run);
  run.options.strategy = "overlap_local_sgd:statistics=recompute";
  const TrainResult measured = train(run);
  ASSERT_FALSE(kept.error || measured.error);
  EXPECT_EQ(kept.summary.loss, measured.summary.loss);
  EXPECT_EQ(kept.summary.drift, measured.summary.drift);
  EXPECT_NE(kept.summary.consensus->loss, measured.summary.consensus->loss);
  EXPECT_GT(measured.summary.consensus->accuracy, 0.9);
  EXPECT_FALSE(kept.summary.warnings.empty());
  EXPECT_TRUE(measured.summary.warnings.empty());
}

TEST(Trainer, TellsHowFarItCameWhenAWorkerDies) {
  Setting run = small_run(3);
  run.engine.cluster.deaths = {{WorkerId{1}, Step{10}}};
  const TrainResult result = train(run);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.summary.steps_done, 10);
  try {
    std::rethrow_exception(result.error);
  } catch (const PeerLost& lost) {
    EXPECT_NE(std::string(lost.what()).find("worker 1 died at step 10"), std::string::npos)
        << lost.what();
  }
}

// Everything that follows the last step is done by those who are left.
TEST(Trainer, SurvivorsOfALossFinishTheRun) {
  for (const char* strategy : {"p_reduce:group=2", "ad_psgd"}) {
    const ScratchFolder folder;
    Setting run = small_run(5);
    run.options.strategy = strategy;
    run.options.update.learning_rate = 0.01;  // Low: who is late by how much is up to the machine.
    run.options.compute = {.per_step = 0.005};  // So that worker 3 gets to its third step.
    run.options.evaluate_every = 10;
    run.options.save = CheckpointFolder(folder.path());
    run.options.save->prepare();
    run.engine.cluster.deaths = {{WorkerId{3}, Step{3}}};
    const TrainResult result = train(run);
    if (result.error) std::rethrow_exception(result.error);
    ASSERT_EQ(result.summary.lost.size(), 1u) << strategy;
    EXPECT_NE(result.summary.lost[0].find("worker 3 died at step 3"), std::string::npos);
    EXPECT_EQ(result.summary.by_worker.size(), 4u);
    EXPECT_GT(result.summary.consensus->accuracy, 0.25) << strategy << " of ten classes";
    EXPECT_EQ(result.summary.curve.size(), 4u);
    EXPECT_NEAR(static_cast<double>(result.summary.steps_done), 40, 1) << strategy;
    EXPECT_TRUE(fs::exists(folder.path() / "consensus.pt"));
    EXPECT_FALSE(fs::exists(folder.path() / "checkpoint.json"))
        << "worker 3 has no state to resume";
    ASSERT_FALSE(result.summary.warnings.empty());
  }
}

TEST(Trainer, ALostPartOfTheModelEndsTheRun) {
  for (const char* strategy : {"asp", "ssp"}) {
    Setting run = small_run(5);
    run.options.strategy = strategy;
    run.engine.cluster.deaths = {{WorkerId{3}, Step{3}}};
    const TrainResult result = train(run);
    ASSERT_TRUE(result.error) << strategy;
    try {
      std::rethrow_exception(result.error);
    } catch (const PeerLost& lost) {
      const std::string text = lost.what();
      EXPECT_NE(text.find("worker 3 died at step 3"), std::string::npos) << text;
      EXPECT_NE(text.find("the server beside worker 3 held"), std::string::npos) << text;
    }
  }
}

TEST(Trainer, CountsTheStepsOfAllWorkersWhereEachHasItsPace) {
  Setting run = small_run(4);
  run.options.strategy = "p_reduce:group=2";
  run.options.compute = {.per_step = 0.001};
  run.options.evaluate_every = 10;
  run.engine.cluster.slowdowns = {{.worker = {2}, .factor = 100}};
  double last = 0;
  const TrainResult result = train(run, [&](const StepRecord& record) {
    if (record.worker != WorkerId{0}) return;
    EXPECT_GT(record.progress, last);
    last = record.progress;
  });
  if (result.error) std::rethrow_exception(result.error);
  EXPECT_EQ(result.summary.steps_done, 40);
  EXPECT_GE(result.summary.steps_taken, 160);
  EXPECT_LE(result.summary.steps_taken, 163);
  EXPECT_NEAR(last, 40, 1);
  EXPECT_EQ(result.summary.curve.size(), 4u);
  EXPECT_GT(result.summary.curve[2].drift, 0);
  EXPECT_LT(result.summary.figures.at("p_reduce.share.2"), 0.2);
}

TEST(Trainer, ResumesARunInWhichEachWorkerHadItsPace) {
  for (const char* strategy : {"p_reduce:group=2", "asp", "ssp", "ad_psgd"}) {
    const ScratchFolder folder;
    Setting run = small_run(3);
    run.options.strategy = strategy;
    run.options.compute = {.per_step = 0.001};
    run.engine.cluster.slowdowns = {{.worker = {2}, .factor = 3}};
    run.options.save = CheckpointFolder(folder.path());
    run.options.save->prepare();
    const TrainResult first = train(run);
    if (first.error) std::rethrow_exception(first.error);
    run.options.save.reset();
    run.options.steps = 60;
    run.options.evaluate_every = 1;
    run.options.resume = states_in(folder.path());
    const TrainResult second = train(run);
    if (second.error) std::rethrow_exception(second.error);
    EXPECT_EQ(second.summary.steps_done, 60) << strategy;
    EXPECT_EQ(second.summary.curve.size(), 20u) << strategy;
    EXPECT_NEAR(static_cast<double>(second.summary.steps_taken), 60, 3) << strategy;
  }
}

TEST(Trainer, SolvesTheQuadraticProblem) {
  Setting run = small_run(4);
  run.problem.data = "quadratic:dimension=20,noise=0,spread=0";
  run.options.steps = 200;
  const TrainResult result = train(run);
  ASSERT_FALSE(result.error);
  EXPECT_LT(result.summary.consensus->loss, 1e-6);
  EXPECT_FALSE(result.summary.consensus->accuracy);
}

TEST(LoadProblem, RefusesWhatCannotWorkBeforeAnyWork) {
  ProblemOptions good{.model = "mlp", .data = "digits", .workers = 4, .batch = 32};
  const auto refused = [&](auto change) {
    ProblemOptions bad = good;
    change(bad);
    EXPECT_THROW(load_problem(bad), UsageError);
  };
  EXPECT_NO_THROW(load_problem(good));
  refused([](ProblemOptions& options) { options.model = "mlpp"; });
  refused([](ProblemOptions& options) { options.data = "digitz"; });
  refused([](ProblemOptions& options) { options.split = "dirichlet"; });
  refused([](ProblemOptions& options) { options.batch = 10'000; });
  refused([](ProblemOptions& options) { options.workers = 0; });
  refused([](ProblemOptions& options) {
    options.data = "mnist";
    options.data_directory = "/nowhere";
  });
  refused([](ProblemOptions& options) { options.data = "quadratic:dimension=0"; });
}

}  // namespace
}  // namespace huddle
