// Every plan is traced on paper: the tracer throws unless all members end with every contribution
// exactly once.

#include "huddle/collective/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "huddle/base/error.h"
#include "huddle/collective/compiled_plan.h"
#include "huddle/collective/trace.h"

namespace huddle {
namespace {

Racks racks_of_sizes(std::vector<int> sizes) {
  Racks racks;
  int position = 0;
  for (const int size : sizes) {
    racks.emplace_back();
    for (int i = 0; i < size; ++i) racks.back().push_back(position++);
  }
  return racks;
}

std::vector<Plan> plans_of(Algorithm algorithm, const Racks& racks) {
  int members = 0;
  for (const auto& rack : racks) members += static_cast<int>(rack.size());
  std::vector<Plan> plans;
  for (int position = 0; position < members; ++position)
    plans.push_back(make_plan(algorithm, position, racks));
  return plans;
}

std::int64_t elements_sent(const Plan& plan, std::int64_t elements) {
  return compile(plan, elements, {.message_elements = elements}, Overlap::phases).elements_sent;
}

TEST(Plan, EveryAlgorithmAddsEveryContributionOnceForAnyGroupSize) {
  for (int members = 2; members <= 33; ++members)
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::halving_doubling, Algorithm::direct, Algorithm::leader,
          Algorithm::sharded, Algorithm::scattered_ring})
      EXPECT_NO_THROW(trace(plans_of(algorithm, racks_of_sizes({members})))) << members;
  EXPECT_NO_THROW(trace(plans_of(Algorithm::pair, racks_of_sizes({2}))));
}

TEST(Plan, HierarchiesAddEveryContributionOnceForAnyRacks) {
  for (int racks = 1; racks <= 5; ++racks)
    for (int per_rack = 1; per_rack <= 5; ++per_rack) {
      const Racks shape =
          racks_of_sizes(std::vector<int>(static_cast<std::size_t>(racks), per_rack));
      if (racks * per_rack == 1) continue;
      EXPECT_NO_THROW(trace(plans_of(Algorithm::leader, shape))) << racks << "x" << per_rack;
      EXPECT_NO_THROW(trace(plans_of(Algorithm::sharded, shape))) << racks << "x" << per_rack;
      EXPECT_NO_THROW(trace(plans_of(Algorithm::scattered_ring, shape)));
    }
  EXPECT_NO_THROW(trace(plans_of(Algorithm::leader, racks_of_sizes({3, 1, 2}))));
}

TEST(Plan, SequentialMessagesAreThosePromised) {
  EXPECT_EQ(trace(plans_of(Algorithm::pair, racks_of_sizes({2}))).sequential_messages, 1);
  for (int members = 2; members <= 17; ++members) {
    const Racks one_rack = racks_of_sizes({members});
    EXPECT_EQ(trace(plans_of(Algorithm::ring, one_rack)).sequential_messages, 2 * (members - 1));
    EXPECT_EQ(trace(plans_of(Algorithm::direct, one_rack)).sequential_messages, 2);
    const int levels = std::bit_width(static_cast<unsigned>(members)) - 1;
    const bool power_of_two = std::has_single_bit(static_cast<unsigned>(members));
    EXPECT_EQ(trace(plans_of(Algorithm::halving_doubling, one_rack)).sequential_messages,
              2 * levels + (power_of_two ? 0 : 2));
  }
  EXPECT_EQ(trace(plans_of(Algorithm::leader, racks_of_sizes({4, 4, 4}))).sequential_messages,
            2 * 3 + 2 * 2);
  EXPECT_EQ(trace(plans_of(Algorithm::sharded, racks_of_sizes({4, 4, 4}))).sequential_messages,
            2 * 3 + 2 * 2);
}

TEST(Plan, BytesAreThosePromised) {
  const std::int64_t model = 12 * 16 * 16 * 5;  // Divides evenly.
  EXPECT_EQ(elements_sent(make_plan(Algorithm::pair, 0, racks_of_sizes({2})), model), model);
  for (const int members : {2, 3, 4, 6, 8, 16}) {
    const Racks one_rack = racks_of_sizes({members});
    const std::int64_t expected = 2 * (members - 1) * model / members;
    EXPECT_EQ(elements_sent(make_plan(Algorithm::ring, 1, one_rack), model), expected);
    EXPECT_EQ(elements_sent(make_plan(Algorithm::direct, 1, one_rack), model), expected);
    if (std::has_single_bit(static_cast<unsigned>(members))) {
      EXPECT_EQ(elements_sent(make_plan(Algorithm::halving_doubling, 1, one_rack), model),
                expected);
    }
  }
  EXPECT_EQ(elements_sent(make_plan(Algorithm::sharded, 5, racks_of_sizes({4, 4, 4})), model),
            2 * 11 * model / 12);
  EXPECT_EQ(elements_sent(make_plan(Algorithm::leader, 0, racks_of_sizes({4, 4, 4})), model),
            model + 2 * 2 * model / 3);
}

TEST(Plan, RefusesGroupsThatDoNotFit) {
  EXPECT_THROW(make_plan(Algorithm::pair, 0, racks_of_sizes({3})), UsageError);
  EXPECT_THROW(make_plan(Algorithm::sharded, 0, racks_of_sizes({3, 2})), UsageError);
}

TEST(Plan, DefaultDependsOnBytesAndGroupSizeAlone) {
  EXPECT_EQ(choose(Algorithm::automatic, 2, 1 << 30), Algorithm::pair);
  EXPECT_EQ(choose(Algorithm::automatic, 8, 1000), Algorithm::halving_doubling);
  EXPECT_EQ(choose(Algorithm::automatic, 8, 1 << 30), Algorithm::ring);
  EXPECT_EQ(choose(Algorithm::direct, 8, 1 << 30), Algorithm::direct);
  EXPECT_EQ(choose(Algorithm::ring, 2, 1 << 30), Algorithm::pair);
  EXPECT_EQ(choose(Algorithm::direct, 2, 1 << 30), Algorithm::direct);
}

TEST(Trace, RefusesPlansThatDoNotFitTogether) {
  std::vector<Plan> plans = plans_of(Algorithm::ring, racks_of_sizes({4}));
  plans[2].actions.pop_back();
  EXPECT_THROW(trace(plans), LogicError);
  std::vector<Plan> doubled = plans_of(Algorithm::pair, racks_of_sizes({2}));
  for (Plan& plan : doubled)
    plan.actions.insert(plan.actions.end(), plan.actions.begin(), plan.actions.end());
  EXPECT_THROW(trace(doubled), LogicError);
}

TEST(Compile, CutsLargeMessagesAndKeepsTheirOrder) {
  const CompiledPlan compiled = compile(make_plan(Algorithm::pair, 0, racks_of_sizes({2})), 1000,
                                        {.message_elements = 300}, Overlap::phases);
  EXPECT_EQ(compiled.messages_sent, 4);
  EXPECT_EQ(compiled.elements_sent, 1000);
  EXPECT_LE(compiled.largest_message, 300);
}

TEST(Compile, CutsAtMultiplesOfAUnitHoweverManyMessagesThereAre) {
  for (const std::int64_t most : {100, 1000, 100000}) {
    const CompiledPlan compiled = compile(make_plan(Algorithm::ring, 1, racks_of_sizes({3})), 4321,
                                          {.message_elements = most, .unit = 64}, Overlap::phases);
    std::int64_t sent = 0;
    for (const Message& message : compiled.messages) {
      EXPECT_EQ(message.begin % 64, 0);
      EXPECT_TRUE(message.end % 64 == 0 || message.end == 4321) << message.end;
      if (message.verb == Action::Verb::send) sent += message.size();
    }
    EXPECT_NEAR(static_cast<double>(sent), 2 * 2. / 3 * 4321, 3 * 64);
  }
}

TEST(Compile, LetsReadersOfOneStretchGoTogetherButNoWriterBesideThem) {
  constexpr int kMembers = 5;
  const CompiledPlan compiled = compile(make_plan(Algorithm::direct, 2, racks_of_sizes({kMembers})),
                                        kMembers * 10, {.message_elements = 100}, Overlap::phases);
  int sends_of_the_sum = 0;
  for (int i = 0; i < static_cast<int>(compiled.messages.size()); ++i) {
    const Message& message = compiled.messages[static_cast<std::size_t>(i)];
    const bool is_own = message.begin == 20;
    if (message.verb == Action::Verb::send && is_own) {
      EXPECT_EQ(message.waits_for, 1) << "the last of those that are added";
      EXPECT_TRUE(compiled.wakes(i).empty());
      ++sends_of_the_sum;
    }
    if (message.verb == Action::Verb::copy) {
      EXPECT_EQ(message.waits_for, 1) << "it overwrites what is being sent";
    }
  }
  EXPECT_EQ(sends_of_the_sum, kMembers - 1);
}

TEST(Compile, LetsNoLaterStepOfDoublingTakeBandwidthFromAnEarlierOne) {
  constexpr int kMembers = 8;
  const CompiledPlan compiled =
      compile(make_plan(Algorithm::halving_doubling, 0, racks_of_sizes({kMembers})), kMembers * 10,
              {.message_elements = 1000}, Overlap::phases);
  std::vector<int> doubling;  // The sends of what is summed up: 1, 2 and 4 segments from the first.
  for (int i = 0; i < std::ssize(compiled.messages); ++i) {
    const Message& message = compiled.messages[static_cast<std::size_t>(i)];
    if (message.verb == Action::Verb::send && message.begin == 0) doubling.push_back(i);
  }
  ASSERT_EQ(doubling.size(), 3u);
  for (std::size_t i = 0; i + 1 < doubling.size(); ++i) {
    const std::span<const int> wakes = compiled.wakes(doubling[i]);
    EXPECT_NE(std::find(wakes.begin(), wakes.end(), doubling[i + 1]), wakes.end()) << i;
  }
}

TEST(Compile, LeavesOutEmptyMessages) {
  const CompiledPlan compiled = compile(make_plan(Algorithm::ring, 0, racks_of_sizes({7})), 2,
                                        {.message_elements = 100}, Overlap::phases);
  for (const Message& message : compiled.messages) EXPECT_GT(message.end, message.begin);
}

}  // namespace
}  // namespace huddle
