#include "huddle/train/step_gate.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_run.h"

namespace huddle {
namespace {

TEST(StepGate, LetsEverybodyComeAsFarAsTheFirst) {
  StepGate gate;
  EXPECT_TRUE(gate.admits(Step{0}));
  EXPECT_TRUE(gate.admits(Step{1}));
  EXPECT_FALSE(gate.is_closed());
  gate.close();
  EXPECT_TRUE(gate.is_closed());
  EXPECT_TRUE(gate.admits(Step{0})) << "of a slower worker";
  EXPECT_TRUE(gate.admits(Step{1}));
  EXPECT_FALSE(gate.admits(Step{2}));
  gate.close();
  EXPECT_FALSE(gate.admits(Step{2}));
}

TEST(StepGate, CountsFromWhereARunIsResumed) {
  StepGate gate;
  EXPECT_TRUE(gate.admits(Step{40}));
  gate.close();
  EXPECT_TRUE(gate.admits(Step{40}));
  EXPECT_FALSE(gate.admits(Step{41}));
}

TEST(StepGate, ClosedBeforeTheFirstStepAdmitsNone) {
  StepGate gate;
  gate.close();
  EXPECT_FALSE(gate.admits(Step{0}));
}

// The state of all workers after 40 steps.
std::vector<NamedTensors> end_of(Setting run) {
  const ScratchFolder scratch;
  run.options.save = CheckpointFolder(scratch.path());
  run.options.save->prepare();
  const TrainResult result = train(run);
  if (result.error) std::rethrow_exception(result.error);
  std::vector<NamedTensors> states;
  for (int worker = 0; worker < run.options.workers; ++worker)
    states.push_back(states_in(scratch.path())(WorkerId{worker}));
  return states;
}

class InterruptionUnder : public testing::TestWithParam<const char*> {};

// Whoever is interrupted loses nothing: the run goes on as if it never had been.
TEST_P(InterruptionUnder, SavesAllWorkersAtOneStep) {
  Setting run = small_run(4);
  run.options.strategy = GetParam();
  run.options.compute = {.per_step = 0.001};
  run.engine.cluster.slowdowns = {{.worker = {2}, .factor = 5}};
  const ScratchFolder scratch;
  StepGate gate;
  Setting interrupted = run;
  interrupted.options.gate = &gate;
  interrupted.options.save = CheckpointFolder(scratch.path());
  interrupted.options.save->prepare();
  const TrainResult result = train(interrupted, [&](const StepRecord& record) {
    if (record.worker == WorkerId{0} && record.step == Step{12}) gate.close();
  });
  ASSERT_TRUE(result.error);
  EXPECT_THROW(std::rethrow_exception(result.error), Interrupted);
  const CheckpointInfo info = CheckpointFolder(scratch.path()).load_info();
  EXPECT_GE(info.step, 13);
  EXPECT_LT(info.step, 40);
  EXPECT_EQ(result.summary.steps_done, info.step);
  EXPECT_EQ(result.summary.steps_taken, 4 * info.step);
  Setting resumed = run;
  resumed.options.resume = states_in(scratch.path());
  const std::vector<NamedTensors> whole = end_of(run);
  const std::vector<NamedTensors> pieced = end_of(resumed);
  for (std::size_t worker = 0; worker < whole.size(); ++worker)
    for (const auto& [name, tensor] : whole[worker])
      EXPECT_TRUE(tensor.equal(pieced[worker].at(name))) << worker << " " << name;
}

INSTANTIATE_TEST_SUITE_P(Strategies, InterruptionUnder,
                         testing::Values("bsp", "bsp:buckets=4", "ds_sync",
                                         "sesgd:overlap=backward,buckets=2", "local_sgd:tau=40",
                                         "overlap_local_sgd:tau=3", "cocod:tau=3", "slowmo:tau=4",
                                         "random_groups"));

TEST(Interruption, OfAnEvaluationKeepsTheLastCheckpoint) {
  const ScratchFolder scratch;
  StepGate gate;
  Setting run = small_run(4);
  run.options.gate = &gate;
  run.options.save = CheckpointFolder(scratch.path());
  run.options.save->prepare();
  const TrainResult result = train(run, [&](const StepRecord& record) {
    if (record.worker == WorkerId{0} && record.step == Step{39}) gate.close();
  });
  ASSERT_TRUE(result.error);
  EXPECT_THROW(std::rethrow_exception(result.error), Interrupted);
  EXPECT_EQ(CheckpointFolder(scratch.path()).load_info().step, 40);
  EXPECT_FALSE(result.summary.consensus);
}

}  // namespace
}  // namespace huddle
