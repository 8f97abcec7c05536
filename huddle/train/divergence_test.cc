// Runs whose losses are not finite any more: they end for everybody, and say so.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_run.h"

namespace huddle {
namespace {

Setting run_that_diverges(const char* strategy) {
  Setting run = small_run(4);
  run.problem.data = "quadratic:dimension=20";
  run.options.strategy = strategy;
  run.options.update.learning_rate = 1e15;
  run.options.steps = 1'000'000;
  return run;
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Diverged& divergence) {
    return divergence.what();
  } catch (const std::exception& other) {
    return std::string("not a divergence: ") + other.what();
  }
}

class DivergenceUnder : public testing::TestWithParam<const char*> {};

TEST_P(DivergenceUnder, EndsTheRunAndNamesWorkerAndStep) {
  const TrainResult result = train(run_that_diverges(GetParam()));
  ASSERT_TRUE(result.error);
  const std::string text = text_of(result.error);
  EXPECT_TRUE(text.starts_with("the training diverged: the loss of worker ")) << text;
  EXPECT_NE(text.find("was not finite in 20 steps in a row, "), std::string::npos) << text;
  EXPECT_LT(result.summary.steps_done, 10'000) << "of a million";
  ASSERT_FALSE(result.summary.warnings.empty());
  EXPECT_EQ(result.summary.warnings.back(), text);
}

INSTANTIATE_TEST_SUITE_P(Strategies, DivergenceUnder,
                         testing::Values("bsp", "ds_sync", "sesgd:overlap=backward,buckets=2",
                                         "local_sgd:tau=1000", "overlap_local_sgd", "slowmo",
                                         "random_groups", "p_reduce:group=2", "asp", "ssp",
                                         "ad_psgd", "eager"));

TEST(Divergence, IsTwentyStepsInARow) {
  Setting run = run_that_diverges("bsp");
  std::atomic<std::int64_t> first{-1};
  const TrainResult result = train(run, [&](const StepRecord& record) {
    if (record.worker == WorkerId{0} && !std::isfinite(record.loss) && first < 0)
      first = record.step.value;
  });
  const std::int64_t last = first + kDivergedAfter - 1;
  EXPECT_NE(text_of(result.error)
                .find(", " + std::to_string(first) + " to " + std::to_string(last) + ";"),
            std::string::npos)
      << text_of(result.error);
  run.options.steps = last;
  EXPECT_FALSE(train(run).error) << "one less";
}

TEST(Divergence, IsLivedThroughByThoseWhoWantTo) {
  Setting run = run_that_diverges("local_sgd:tau=3");
  run.options.steps = 60;
  run.options.keep_going = true;
  const TrainResult result = train(run);
  ASSERT_FALSE(result.error);
  EXPECT_EQ(result.summary.steps_done, 60);
  EXPECT_FALSE(std::isfinite(result.summary.loss));
  ASSERT_TRUE(result.summary.drift);
  EXPECT_FALSE(std::isfinite(*result.summary.drift)) << *result.summary.drift;
}

TEST(Divergence, LeavesTheLastCheckpointThatIsOfUse) {
  const ScratchFolder scratch;
  const CheckpointFolder folder(scratch.path());
  Setting run = run_that_diverges("bsp");
  run.options.save = folder;
  run.options.save_every = 1;
  folder.prepare();
  EXPECT_TRUE(text_of(train(run).error).starts_with("the training diverged"));
  const CheckpointInfo info = folder.load_info();
  EXPECT_LT(info.step, 10);
  folder.verify(info);
  for (const auto& [name, tensor] : folder.load_worker(info, WorkerId{0})) {
    if (!name.starts_with("module/")) continue;
    EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << name;
  }
}

}  // namespace
}  // namespace huddle
