#include "huddle/train/evaluation/swa.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace huddle {
namespace {

at::Tensor model(double value) { return torch::full({1}, value); }

TEST(RunningMean, TakesTheModelsOfTheChosenSteps) {
  RunningMean mean({.start = 3, .every = 2, .steps = 8});
  for (int step = 0; step < 3; ++step) mean.offer(step + 1, model(step));
  EXPECT_TRUE(mean.empty());
  for (int step = 3; step < 8; ++step) mean.offer(step + 1, model(step));
  mean.complete(model(100));
  EXPECT_DOUBLE_EQ(mean.mean().item<double>(), 5) << "of steps 3, 5 and 7";
}

TEST(RunningMean, CountsAModelForEachMomentThatASlowStepHasPassed) {
  RunningMean mean({.start = 3, .every = 1, .steps = 8});
  mean.offer(2.5, model(100));
  mean.offer(5.5, model(1));  // After 4 and 5 steps.
  mean.complete(model(6));    // After 6, 7 and 8.
  EXPECT_DOUBLE_EQ(mean.mean().item<double>(), 4);
}

TEST(RunningMean, OfARunThatNeverCameThereIsOfItsLastModel) {
  RunningMean mean({.start = 3, .every = 1, .steps = 8});
  mean.complete(model(6));
  EXPECT_DOUBLE_EQ(mean.mean().item<double>(), 6);
}

TEST(RunningMean, IsEmptyWhereNobodyAskedForIt) {
  RunningMean mean({.steps = 8});
  mean.complete(model(6));
  EXPECT_TRUE(mean.empty());
}

TEST(RunningMean, GoesOnWhereACheckpointEnded) {
  RunningMean first({.start = 3, .every = 1, .steps = 5});
  first.complete(model(1));
  NamedTensors state;
  first.save(state);
  RunningMean second({.start = 3, .every = 1, .steps = 8});
  second.load(state);
  second.offer(5, model(100));
  second.complete(model(6));
  EXPECT_DOUBLE_EQ(second.mean().item<double>(), (2 * 1 + 3 * 6) / 5.);
}

}  // namespace
}  // namespace huddle
