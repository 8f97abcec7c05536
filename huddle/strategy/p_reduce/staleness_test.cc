#include "huddle/strategy/p_reduce/staleness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/random.h"

namespace huddle {
namespace {

using Iterations = std::vector<std::int64_t>;

constexpr GapPolicy kPolicies[] = {GapPolicy::member, GapPolicy::forward, GapPolicy::skip,
                                   GapPolicy::stalest};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "member " << i;
}

// The definition, slot by slot: what the closed forms must come to.
std::vector<double> by_slots(const Iterations& iterations, const DynamicWeights& rule) {
  const std::int64_t newest = new_iteration(iterations);
  const std::int64_t oldest = *std::min_element(iterations.begin(), iterations.end());
  std::vector<double> weights(iterations.size());
  double given = 0;
  double sum = 0;
  for (std::int64_t slot = newest; slot >= oldest; --slot) {
    const double worth = std::pow(rule.decay, static_cast<double>(newest - slot));
    sum += worth;
    // Whoever is nearest: in the slot itself, or with `forward` in an older one.
    std::int64_t heir = slot;
    const auto members_of = [&](std::int64_t k) {
      return std::count(iterations.begin(), iterations.end(), k);
    };
    while (rule.policy == GapPolicy::forward && members_of(heir) == 0) --heir;
    for (std::size_t i = 0; i < iterations.size(); ++i)
      if (iterations[i] == heir) {
        weights[i] += worth / static_cast<double>(members_of(heir));
        given += worth / static_cast<double>(members_of(heir));
      }
  }
  const auto stalest = std::find(iterations.begin(), iterations.end(), oldest);
  if (rule.policy == GapPolicy::stalest)
    weights[static_cast<std::size_t>(stalest - iterations.begin())] += sum - given;
  const double all = rule.policy == GapPolicy::skip ? given : sum;
  for (double& weight : weights) weight /= all;
  return weights;
}

Iterations random_iterations(Random& random) {
  Iterations iterations(1 + random.below(6));
  for (std::int64_t& each : iterations) each = static_cast<std::int64_t>(random.below(12));
  return iterations;
}

TEST(Staleness, FollowsTheSlotsOfTheDefinition) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const Iterations iterations = random_iterations(random);
    for (const GapPolicy policy : {GapPolicy::forward, GapPolicy::skip, GapPolicy::stalest}) {
      const DynamicWeights rule{.policy = policy, .decay = 0.05 + 0.9 * random.uniform()};
      expect_near(dynamic_weights(iterations, rule), by_slots(iterations, rule), 1e-13);
    }
  }
}

TEST(Staleness, WeighsMembersByPowersOfTheDecay) {
  const Iterations iterations = {5, 6, 9};
  expect_near(dynamic_weights(iterations, {.decay = 0.5}),
              {0.0625 / 1.1875, 0.125 / 1.1875, 1 / 1.1875}, 1e-15);
}

TEST(Staleness, GivesWeightsThatSumToOne) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    const Iterations iterations = random_iterations(random);
    for (const GapPolicy policy : kPolicies) {
      const std::vector<double> weights =
          dynamic_weights(iterations, {.policy = policy, .decay = 0.01 + 0.98 * random.uniform()});
      EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-13);
    }
  }
}

TEST(Staleness, EqualsConstantWeightsBitForBitWhereIterationsAreEqual) {
  for (int members = 1; members <= 32; ++members)
    for (const double decay : {1e-9, 0.3, 0.9, 0.999999})
      for (const GapPolicy policy : kPolicies)
        EXPECT_EQ(dynamic_weights(Iterations(static_cast<std::size_t>(members), 41),
                                  {.policy = policy, .decay = decay}),
                  constant_weights(members));
}

TEST(Staleness, NeverFavoursTheStalerUnderTheDefaultPolicy) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const Iterations iterations = random_iterations(random);
    const std::vector<double> weights =
        dynamic_weights(iterations, {.decay = 0.01 + 0.98 * random.uniform()});
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t j = 0; j < weights.size(); ++j) {
        EXPECT_TRUE(iterations[i] >= iterations[j] || weights[i] <= weights[j]);
        EXPECT_TRUE(iterations[i] != iterations[j] || weights[i] == weights[j]);
      }
  }
}

TEST(Staleness, CanFavourALoneStaleMemberUnderTheOtherPolicies) {
  const Iterations iterations = {5, 7, 7};
  for (const GapPolicy policy : {GapPolicy::forward, GapPolicy::skip, GapPolicy::stalest}) {
    const std::vector<double> weights = dynamic_weights(iterations, {.policy = policy});
    EXPECT_GT(weights[0], weights[1]);
  }
}

TEST(Staleness, StaysFiniteHoweverFarApartMembersAre) {
  const Iterations iterations = {0, 4'000'000'000'000, 3'999'999'999'999};
  for (const GapPolicy policy : kPolicies) {
    const std::vector<double> weights = dynamic_weights(iterations, {.policy = policy});
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-13);
    EXPECT_GE(*std::min_element(weights.begin(), weights.end()), 0);
  }
}

TEST(Staleness, JumpsToTheNewestIteration) {
  EXPECT_EQ(new_iteration(Iterations{4, 9, 7}), 9);
  EXPECT_EQ(new_iteration(Iterations{0}), 0);
}

TEST(Staleness, RefusesBadDecaysAndEmptyGroups) {
  const Iterations iterations = {3, 4};
  for (const double decay : {0.0, 1.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(dynamic_weights(iterations, {.decay = decay}), UsageError);
  EXPECT_THROW(dynamic_weights({}, {}), UsageError);
  EXPECT_THROW(new_iteration({}), UsageError);
  EXPECT_THROW(constant_weights(0), UsageError);
}

}  // namespace
}  // namespace huddle
