#include "huddle/train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "huddle/base/error.h"

namespace huddle {
namespace {

TEST(LearningRate, StaysConstant) {
  const LearningRate rate("constant", 0.25, 100);
  for (const double progress : {0.0, 0.5, 50.0, 99.0, 100.0, 1000.0})
    EXPECT_EQ(rate.at(progress), 0.25) << progress;
}

TEST(LearningRate, FallsByTheFactorEverySoManySteps) {
  const LearningRate rate("step:every=30,factor=0.5", 1, 100);
  EXPECT_EQ(rate.at(0), 1);
  EXPECT_EQ(rate.at(29), 1);
  EXPECT_EQ(rate.at(29.9), 1);
  EXPECT_EQ(rate.at(30), 0.5);
  EXPECT_EQ(rate.at(59), 0.5);
  EXPECT_EQ(rate.at(60), 0.25);
  EXPECT_EQ(rate.at(99), 0.125);
}

TEST(LearningRate, FallsTenfoldEveryThirtyStepsUnlessToldOtherwise) {
  const LearningRate rate("step", 1, 100);
  EXPECT_EQ(rate.at(29), 1);
  EXPECT_DOUBLE_EQ(rate.at(30), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.01);
}

TEST(LearningRate, FollowsACosineToZero) {
  const LearningRate rate("cosine", 2, 100);
  EXPECT_EQ(rate.at(0), 2);
  EXPECT_DOUBLE_EQ(rate.at(25), 1 + std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(rate.at(50), 1);
  EXPECT_NEAR(rate.at(100.0 / 3 * 2), 0.5, 1e-15);
  EXPECT_GT(rate.at(99), 0);
  EXPECT_EQ(rate.at(100), 0);
}

TEST(LearningRate, FollowsACosineToItsFloor) {
  const LearningRate rate("cosine:floor=0.25", 2, 100);
  EXPECT_EQ(rate.at(0), 2);
  EXPECT_DOUBLE_EQ(rate.at(50), 1.25);
  EXPECT_EQ(rate.at(100), 0.5);
}

TEST(LearningRate, HoldsTheLastRateAfterTheEnd) {
  EXPECT_EQ(LearningRate("cosine", 2, 100).at(150), 0);
  EXPECT_EQ(LearningRate("step:every=50,factor=0.5", 1, 100).at(1000), 0.25);
}

TEST(LearningRate, WarmsUpLinearlyFromTheFirstStep) {
  const LearningRate rate("constant:warmup=4", 1, 100);
  EXPECT_EQ(rate.at(0), 0.25);
  EXPECT_EQ(rate.at(0.5), 0.375);
  EXPECT_EQ(rate.at(1), 0.5);
  EXPECT_EQ(rate.at(3), 1);
  EXPECT_EQ(rate.at(4), 1);
}

TEST(LearningRate, CountsStepsFromTheBeginningOfTheRunDespiteWarmup) {
  const LearningRate rate("step:every=10,factor=0.5,warmup=4", 1, 100);
  EXPECT_EQ(rate.at(0), 0.25);
  EXPECT_EQ(rate.at(9), 1);
  EXPECT_EQ(rate.at(10), 0.5);
}

TEST(LearningRate, LetsTheCosineBeginWhereWarmupEnds) {
  const LearningRate rate("cosine:warmup=20", 1, 100);
  EXPECT_EQ(rate.at(9), 0.5);
  EXPECT_EQ(rate.at(19), 1);
  EXPECT_EQ(rate.at(20), 1);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.5);
  EXPECT_EQ(rate.at(100), 0);
}

TEST(LearningRate, MayWarmUpForTheWholeRun) {
  const LearningRate rate("cosine:warmup=10", 1, 10);
  EXPECT_EQ(rate.at(4), 0.5);
  EXPECT_EQ(rate.at(9), 1);
  EXPECT_EQ(rate.at(10), 1);
}

TEST(LearningRate, NamesTheNearestScheduleWhenItIsUnknown) {
  try {
    LearningRate("cosin", 1, 100);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("'cosin'"), std::string::npos) << message;
    EXPECT_NE(message.find("did you mean 'cosine'"), std::string::npos) << message;
    EXPECT_NE(message.find("constant, step, cosine"), std::string::npos) << message;
  }
}

TEST(LearningRate, RefusesImpossibleValues) {
  EXPECT_THROW(LearningRate("constant:every=3", 1, 100), UsageError);
  EXPECT_THROW(LearningRate("step:every=0", 1, 100), UsageError);
  EXPECT_THROW(LearningRate("step:factor=1.5", 1, 100), UsageError);
  EXPECT_THROW(LearningRate("cosine:floor=-0.1", 1, 100), UsageError);
  EXPECT_THROW(LearningRate("cosine:warmup=2.5", 1, 100), UsageError);
  EXPECT_THROW(LearningRate("constant:warmup=101", 1, 100), UsageError);
  EXPECT_NO_THROW(LearningRate("constant:warmup=100", 1, 100));
  EXPECT_THROW(LearningRate("constant", -1, 100), LogicError);
}

TEST(LearningRate, DeclaresDefaultsThatItAccepts) {
  for (const SpecInfo& info : known_learning_rates()) {
    Spec spec{.name = info.name, .values = {}};
    for (const KeyInfo& key : info.keys) spec.values[key.name] = key.fallback;
    EXPECT_EQ(LearningRate(to_string(spec), 0.5, 100).at(0), 0.5) << info.name;
  }
}

}  // namespace
}  // namespace huddle
