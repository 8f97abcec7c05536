#include "huddle/strategy/p_reduce/meeting_rates.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/schedule/contraction.h"
#include "tests/support/group_contraction.h"

namespace huddle {
namespace {

using Members = std::vector<WorkerId>;

MeetingRates rates_of(int workers, const std::vector<Members>& log) {
  MeetingRates rates(workers);
  for (const Members& group : log) rates.add(group);
  return rates;
}

// `count` groups of `smallest` to `largest` workers.
std::vector<Members> random_log(int workers, int smallest, int largest, int count) {
  Random random(3);
  std::vector<Members> log;
  for (int i = 0; i < count; ++i) {
    Members members;
    for (const WorkerId worker : Group::everyone(workers)) members.push_back(worker);
    random.shuffle(members);
    const auto spread = static_cast<std::uint64_t>(largest - smallest + 1);
    members.resize(static_cast<std::size_t>(smallest) + random.below(spread));
    log.push_back(members);
  }
  return log;
}

TEST(MeetingRates, CountsTheShareOfGroupsThatHoldBoth) {
  const MeetingRates rates = rates_of(4, {{{0}, {1}}, {{2}, {1}, {0}}, {{3}}, {{1}, {3}}});
  EXPECT_DOUBLE_EQ(rates.rate(WorkerId{0}, WorkerId{1}), 0.5);
  EXPECT_DOUBLE_EQ(rates.rate(WorkerId{1}, WorkerId{0}), 0.5);
  EXPECT_DOUBLE_EQ(rates.rate(WorkerId{1}, WorkerId{1}), 0.75);
  EXPECT_DOUBLE_EQ(rates.rate(WorkerId{0}, WorkerId{3}), 0);
  EXPECT_DOUBLE_EQ(rates.mean_size(), 2);
  EXPECT_EQ(rates.groups(), 4);
}

TEST(MeetingRates, HasTheKnownContractionOfUnequalPairs) {
  const MeetingRates rates = rates_of(3, {{{0}, {1}}, {{0}, {1}}, {{1}, {2}}, {{0}, {2}}});
  EXPECT_NEAR(rates.rho(), 0.625, 1e-14);
}

TEST(MeetingRates, AgreesWithTheContractionOfTheSameGroups) {
  for (const int largest : {3, 5}) {
    const std::vector<Members> log = random_log(7, 3, largest, 40);
    WeightedGroups weighted{.workers = 7, .groups = {}, .probabilities = {}};
    for (const Members& members : log) {
      weighted.groups.emplace_back(members);
      weighted.probabilities.push_back(1.0 / static_cast<double>(log.size()));
    }
    EXPECT_NEAR(rates_of(7, log).rho(), contraction(weighted), 1e-12);
  }
}

TEST(MeetingRates, ComesToTheClosedFormForRandomGroups) {
  const MeetingRates equal = rates_of(8, random_log(8, 3, 3, 20000));
  EXPECT_NEAR(equal.rho_of_random_groups(), 5.0 / 7, 1e-14);
  EXPECT_NEAR(equal.rho(), 5.0 / 7, 0.01);
  const MeetingRates mixed = rates_of(8, random_log(8, 1, 8, 20000));
  EXPECT_NEAR(mixed.rho(), mixed.rho_of_random_groups(), 0.01);
}

TEST(MeetingRates, IsOneExactlyWhereSomebodyIsApart) {
  EXPECT_NEAR(rates_of(4, {{{0}, {1}}, {{2}, {3}}}).rho(), 1, 1e-14);
  EXPECT_NEAR(rates_of(3, {{{0}, {1}}}).rho(), 1, 1e-14);
  EXPECT_LT(rates_of(4, {{{0}, {1}}, {{2}, {3}}, {{1}, {2}}}).rho(), 0.95);
}

TEST(MeetingRates, AreOfThoseWhoAreLeft) {
  // Worker 3 never met anybody, worker 2 met both others once.
  MeetingRates rates = rates_of(4, {{{0}, {1}, {2}}, {{0}, {1}}, {{2}}});
  EXPECT_NEAR(rates.rho(), 1, 1e-14);
  rates.lost(WorkerId{3});
  EXPECT_NEAR(rates.rho(), rates_of(3, {{{0}, {1}, {2}}, {{0}, {1}}, {{2}}}).rho(), 1e-14);
  rates.lost(WorkerId{2});
  EXPECT_EQ(rates.groups(), 2) << "a group of a lost worker alone is none";
  EXPECT_EQ(rates.mean_size(), 2);
  EXPECT_NEAR(rates.rho(), 0, 1e-14) << "workers 0 and 1 ended both groups equal";
  EXPECT_EQ(rates.rho_of_random_groups(), 0);
  rates.lost(WorkerId{1});
  EXPECT_EQ(rates.rho(), 0);
  EXPECT_THROW(rates.lost(WorkerId{1}), LogicError);
}

TEST(MeetingRates, ForgetsWhoTookNoPart) {
  MeetingRates rates = rates_of(3, {{{0}, {1}, {2}}, {{0}, {1}}, {{1}, {2}}});
  rates.withdraw(Members{{0}, {1}, {2}}, WorkerId{1});
  EXPECT_NEAR(rates.rho(), rates_of(3, {{{0}, {2}}, {{0}, {1}}, {{1}, {2}}}).rho(), 1e-14);
  rates.withdraw(Members{{0}, {1}}, WorkerId{1});
  rates.withdraw(Members{{0}}, WorkerId{0});
  EXPECT_EQ(rates.groups(), 2) << "nobody took part";
  EXPECT_THROW(rates.withdraw(Members{{0}, {1}}, WorkerId{0}), LogicError);
}

TEST(MeetingRates, HasEndsThatMakeSense) {
  EXPECT_EQ(MeetingRates(3).rho(), 1);
  EXPECT_EQ(MeetingRates(3).mean_size(), 0);
  EXPECT_EQ(MeetingRates(3).rate(WorkerId{0}, WorkerId{1}), 0);
  EXPECT_EQ(rates_of(1, {{{0}}}).rho(), 0);
  EXPECT_NEAR(rates_of(3, {{{0}, {1}, {2}}}).rho(), 0, 1e-14);
  EXPECT_THROW(MeetingRates(0), LogicError);
  EXPECT_THROW(MeetingRates(2).add(Members{{2}}), LogicError);
  EXPECT_THROW(MeetingRates(2).add({}), LogicError);
}

TEST(MeetingRates, KnowsHundredsOfWorkers) {
  const MeetingRates rates = rates_of(200, random_log(200, 16, 16, 3000));
  EXPECT_GT(rates.rho(), rates.rho_of_random_groups());
  EXPECT_LT(rates.rho(), 1 - 0.5 * (1 - rates.rho_of_random_groups()));
}

}  // namespace
}  // namespace huddle
