// Checkpoints of whole runs: none is lost while it is written, and each can be resumed. Who writes
// when is up to the machine, so that every test here makes many runs.

#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/support/small_run.h"

namespace huddle {
namespace {

// ctest's `saving_at_size` repeats this ten times.
constexpr int kRuns = 20;

// Nobody waits for anybody between two checkpoints.
Setting run_that_saves_at_each_step() {
  Setting run = small_run(4);
  run.problem.data = "quadratic:dimension=20";
  run.options.strategy = "local_sgd:tau=3";
  run.options.update.learning_rate = 0.01;
  run.options.steps = 3;
  run.options.save_every = 1;
  return run;
}

TEST(Saving, LosesNoCheckpointThatOthersFollowAtOnce) {
  for (int i = 0; i < kRuns; ++i) {
    const ScratchFolder scratch;
    const CheckpointFolder folder(scratch.path());
    Setting run = run_that_saves_at_each_step();
    run.options.save = folder;
    folder.prepare();
    const TrainResult saved = train(run);
    if (saved.error) std::rethrow_exception(saved.error);
    ASSERT_EQ(folder.load_info().step, 3);
    run.options.save.reset();
    run.options.steps = 4;
    folder.verify(folder.load_info());
    run.options.resume = states_in(scratch.path());
    const TrainResult resumed = train(run);
    if (resumed.error) std::rethrow_exception(resumed.error);
    ASSERT_EQ(resumed.summary.steps_taken, 4);
  }
}

}  // namespace
}  // namespace huddle
