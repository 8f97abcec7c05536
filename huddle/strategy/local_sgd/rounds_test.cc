// The presets' recurrences: a table worked out by hand, and what they have in common with one
// another and with synchronous SGD.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/strategy/local_sgd/presets.h"
#include "tests/support/descent.h"

namespace huddle {
namespace {

// Two workers from 0; each round of one step adds 1 to the first model and 3 to the second,
// whatever the learning rate.
Descent table_row(const std::string& spec, int boundaries) {
  return {.spec = spec,
          .workers = 2,
          .steps = boundaries,
          .size = 3,
          .update = {.learning_rate = 0.5},
          .gradient = [](int worker, int, const at::Tensor& x) {
            return at::full_like(x, (worker == 0 ? -1 : -3) / 0.5);
          }};
}

using Table = std::vector<std::vector<double>>;

void expect_table(const Table& actual, const Table& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t t = 0; t < expected.size(); ++t)
    for (std::size_t i = 0; i < expected[t].size(); ++i)
      EXPECT_NEAR(actual[t][i], expected[t][i], 1e-13) << what << ", boundary " << t + 1;
}

// The anchor that each boundary forms: the one that a run which ends there leaves behind.
std::vector<double> anchors(const std::function<Descent(int boundaries)>& row) {
  std::vector<double> values;
  for (int boundaries = 1; boundaries <= 4; ++boundaries) {
    const Descended ended = descend(row(boundaries));
    const at::Tensor anchor = ended.models[0].at("anchor");
    EXPECT_TRUE(at::equal(anchor, ended.models[1].at("anchor"))) << "one anchor for all";
    values.push_back(anchor[0].item<double>());
  }
  return values;
}

TEST(Rounds, MatchTheTableOfBoundaries) {
  const std::vector<std::pair<std::string, Table>> rows = {
      {"local_sgd:tau=1", {{2, 2}, {4, 4}, {6, 6}, {8, 8}}},
      {"slowmo:tau=1,beta=0.5,slow_lr=1", {{2, 2}, {5, 5}, {8.5, 8.5}, {12.25, 12.25}}},
      {"easgd:tau=1,alpha=0.25",
       {{0.75, 2.25}, {1.5625, 4.1875}, {2.484375, 5.953125}, {3.50390625, 7.60546875}}},
      {"cocod:tau=1", {{1, 3}, {3, 5}, {5, 7}, {7, 9}}},
      {"overlap_local_sgd:tau=1,alpha=0.5",
       {{0.5, 1.5}, {1.25, 2.75}, {2.125, 3.875}, {3.0625, 4.9375}}},
      {"overlap_local_sgd:tau=1,alpha=0.5,beta=0.5",
       {{0.5, 1.5}, {1.25, 2.75}, {2.375, 4.125}, {3.6875, 5.5625}}},
      {"diloco:tau=1,outer_lr=0.7,outer_momentum=0.9",
       {{2.66, 2.66}, {6.454, 6.454}, {11.2686, 11.2686}, {17.00174, 17.00174}}}};
  for (const auto& [spec, expected] : rows)
    expect_table(descend(table_row(spec, 4)).path, expected, spec);
}

TEST(Rounds, FormTheAnchorsOfTheTable) {
  const std::vector<std::pair<std::string, std::vector<double>>> rows = {
      {"easgd:tau=1,alpha=0.25", {1, 2.25, 3.5625, 4.890625}},
      {"cocod:tau=1", {2, 4, 6, 8}},
      {"overlap_local_sgd:tau=1,alpha=0.5", {1, 2, 3, 4}},
      {"overlap_local_sgd:tau=1,alpha=0.5,beta=0.5", {1, 2.5, 4, 5.375}}};
  for (const auto& [spec, expected] : rows)
    expect_table({anchors([&](int boundaries) { return table_row(spec, boundaries); })}, {expected},
                 spec);
}

// The learning rate halves at the third boundary, the displacements stay.
Descent halved_row(const std::string& spec, int boundaries) {
  Descent row = table_row(spec, boundaries);
  row.learning_rate = [](int step) { return step < 2 ? 0.5 : 0.25; };
  row.gradient = [](int worker, int step, const at::Tensor& x) {
    return at::full_like(x, (worker == 0 ? -1 : -3) / (step < 2 ? 0.5 : 0.25));
  };
  return row;
}

TEST(Rounds, ALearningRateThatDropsShrinksTheMomentumAtOnce) {
  const std::string spec = "overlap_local_sgd:tau=1,alpha=0.5,beta=0.5";
  const auto row = [&](int boundaries) { return halved_row(spec, boundaries); };
  expect_table(descend(row(4)).path, {{0.5, 1.5}, {1.25, 2.75}, {2.375, 4.125}, {3.5, 5.375}},
               "halved");
  expect_table({anchors(row)}, {{1, 2.5, 3.625, 5}}, "halved");
}

TEST(Rounds, ARescaleMayBeCapped) {
  const auto risen = [](const std::string& spec) {
    Descent row = table_row(spec, 4);
    row.learning_rate = [](int step) { return step < 2 ? 0.5 : 1.0; };
    row.gradient = [](int worker, int step, const at::Tensor& x) {
      return at::full_like(x, (worker == 0 ? -1 : -3) / (step < 2 ? 0.5 : 1.0));
    };
    return row;
  };
  const std::string spec = "overlap_local_sgd:tau=1,alpha=0.5,beta=0.5";
  const Descended constant = descend(table_row(spec, 4));
  EXPECT_EQ(descend(risen(spec + ",cap_rescale=on")).path, constant.path);
  EXPECT_NE(descend(risen(spec)).path, constant.path);
  // A falling rate is followed all the same.
  EXPECT_EQ(descend(halved_row(spec + ",cap_rescale=on", 4)).path,
            descend(halved_row(spec, 4)).path);
}

TEST(Rounds, ALearningRateChangedWithinARoundCountsOnlyAtItsBoundary) {
  // Displacements do not depend on the rate here, so only the rescale could tell.
  const auto at_rates = [](const std::vector<double>& rates) {
    Descent descent = table_row("overlap_local_sgd:tau=2,alpha=0.5,beta=0.5", 8);
    descent.learning_rate = [=](int step) { return rates[static_cast<std::size_t>(step)]; };
    descent.gradient = [=](int worker, int step, const at::Tensor& x) {
      return at::full_like(x, (worker == 0 ? -1 : -3) / rates[static_cast<std::size_t>(step)]);
    };
    return descend(descent).path;
  };
  EXPECT_EQ(at_rates({1, 1, 1, 1, 1, 0.5, 0.5, 0.5}), at_rates({1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5}));
  EXPECT_NE(at_rates({1, 1, 1, 1, 1, 0.5, 0.5, 0.5}), at_rates({1, 1, 1, 1, 1, 1, 0.5, 0.5}));
}

TEST(Rounds, ALearningRateOfZeroLeavesNumbersFinite) {
  for (const char* spec : {"overlap_local_sgd:beta=0.7,tau=1", "slowmo:tau=1"}) {
    const Descended result = descend({.spec = spec, .steps = 8, .learning_rate = [](int step) {
                                        return step % 3 == 0 ? 0.0 : 0.1;
                                      }});
    EXPECT_TRUE(at::isfinite(at::stack(result.parameters)).all().item<bool>()) << spec;
  }
}

TEST(Rounds, PostLocalSgdIsLocalSgdWithoutWarmupAndBspWithoutEnd) {
  for (const char* algorithm : {"default", "ring", "direct"}) {
    const std::string last = std::string(",algorithm=") + algorithm;
    const Descended local = descend({.spec = "local_sgd:tau=3" + last});
    EXPECT_TRUE(same_bits(descend({.spec = "post_local_sgd:warmup=0,tau=3" + last}), local));
    const Descended synchronous = descend({.spec = std::string("bsp:algorithm=") + algorithm});
    EXPECT_TRUE(same_bits(descend({.spec = "post_local_sgd:warmup=12,tau=3" + last}), synchronous));
    const Descended both = descend({.spec = "post_local_sgd:warmup=6,tau=3" + last});
    EXPECT_EQ(both.path[5], synchronous.path[5]);
    EXPECT_NE(both.path[6], synchronous.path[6]);
  }
}

TEST(Rounds, OuterOptimizersThatDoNothingAreLocalSgd) {
  for (const char* keys : {"", ",slots=average", ",slots=reset"}) {
    const Descended local = descend({.spec = std::string("local_sgd:tau=3") + keys});
    EXPECT_LT(
        distance(descend({.spec = std::string("diloco:tau=3,outer_lr=1,outer_momentum=0") + keys}),
                 local),
        1e-12);
    EXPECT_LT(
        distance(descend({.spec = std::string("slowmo:tau=3,slow_lr=1,beta=0") + keys}), local),
        1e-12);
  }
}

TEST(Rounds, LocalSgdOfOneStepIsSynchronousForSgdAndNotForAdam) {
  for (const UpdateOptions& update :
       {UpdateOptions{.learning_rate = 0.1}, UpdateOptions{.learning_rate = 0.1, .momentum = 0.9}})
    EXPECT_LT(distance(descend({.spec = "local_sgd:tau=1", .update = update}),
                       descend({.spec = "bsp", .update = update})),
              1e-12);
  const UpdateOptions adam{.kind = UpdateOptions::Kind::adam, .learning_rate = 0.1};
  EXPECT_GT(distance(descend({.spec = "local_sgd:tau=1", .update = adam}),
                     descend({.spec = "bsp", .update = adam})),
            1e-6);
}

TEST(Rounds, GiveTheSameBitsThroughMemoryAndMessages) {
  for (const char* spec : {"local_sgd:tau=2", "slowmo:tau=3", "easgd", "easgd:overlap=round",
                           "cocod:statistics=average", "overlap_local_sgd:beta=0.7",
                           "diloco:tau=4,slots=average", "post_local_sgd:warmup=5"})
    EXPECT_TRUE(same_bits(descend({.spec = spec}),
                          descend({.spec = spec, .through = Descent::Through::messages})))
        << spec;
}

TEST(Rounds, ElasticAveragingNeedsItsAnchorOnlyARoundLater) {
  const Descended blocking = descend({.spec = "easgd:tau=3"});
  const Descended hidden = descend({.spec = "easgd:tau=3,overlap=round"});
  EXPECT_TRUE(same_bits(blocking, hidden));
  EXPECT_TRUE(at::equal(blocking.models[2].at("anchor"), hidden.models[2].at("anchor")));
}

TEST(Rounds, ElasticAveragingConservesModelsAndAnchorTogether) {
  // Nobody moves on their own: boundaries may only pass values around.
  Descent descent{.spec = "easgd:tau=1", .workers = 5, .steps = 7, .update = {.learning_rate = 1}};
  descent.gradient = [](int worker, int step, const at::Tensor& x) {
    return at::full_like(x, step == 0 ? -worker : 0);
  };
  const Descended result = descend(descent);
  double sum = result.models[0].at("anchor")[0].item<double>();
  for (const at::Tensor& model : result.parameters) sum += model[0].item<double>();
  EXPECT_NEAR(sum, 0 + 1 + 2 + 3 + 4, 1e-12);
}

TEST(Rounds, OverlapKeepsItsWeightedMeanAndContractsByOneMinusAlpha) {
  Descent descent{.spec = "overlap_local_sgd:tau=1,alpha=0.75",
                  .workers = 3,
                  .steps = 5,
                  .update = {.learning_rate = 1}};
  descent.gradient = [](int worker, int step, const at::Tensor& x) {
    return at::full_like(x, step == 0 ? -worker : 0);
  };
  const Descended result = descend(descent);
  for (std::size_t t = 1; t < result.path.size(); ++t)
    EXPECT_NEAR(result.path[t][2] - result.path[t][0],
                0.25 * (result.path[t - 1][2] - result.path[t - 1][0]), 1e-12);
  // (1 - alpha) mean + alpha anchor: the first boundary leaves a quarter of the mean 1.
  const double mean = at::stack(result.parameters).mean().item<double>();
  const double anchor = result.models[0].at("anchor")[0].item<double>();
  EXPECT_NEAR(0.25 * mean + 0.75 * anchor, 0.25, 1e-12);
}

TEST(Rounds, AnchorMomentumBuysBackWhatThePullTakes) {
  // Progress per round of a constant displacement, in the long run: (1 - alpha) / (1 - alpha beta).
  for (const auto& [beta, progress] :
       std::vector<std::pair<double, double>>{{0, 0.4}, {0.7, 0.4 / 0.58}, {0.9, 0.4 / 0.46}}) {
    Descent row = table_row("overlap_local_sgd:tau=1,beta=" + std::to_string(beta), 200);
    const Descended result = descend(row);
    EXPECT_NEAR(result.path[199][0] - result.path[198][0], 2 * progress, 1e-6) << beta;
  }
}

}  // namespace
}  // namespace huddle
