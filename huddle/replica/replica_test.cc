#include "huddle/replica/replica.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>

#include "huddle/base/error.h"
#include "huddle/replica/late_average.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

const UpdateRule kAdam({.kind = UpdateOptions::Kind::adam, .learning_rate = 0.25});

Replica replica_of(const std::vector<std::int64_t>& sizes, const UpdateRule& rule = kAdam) {
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  return Replica(at::ones({total}), at::ones({total}), at::zeros({0}), sizes, rule);
}

std::vector<std::int64_t> bucket_sizes(const std::vector<std::int64_t>& sizes, int buckets) {
  Replica replica = replica_of(sizes);
  std::vector<std::int64_t> found;
  for (const Bucket& bucket : replica.cut(buckets)) found.push_back(bucket.range.size());
  return found;
}

using Sizes = std::vector<std::int64_t>;

TEST(Replica, StartsWithZeroSlotsNoUpdatesAndTheRulesLearningRate) {
  const Replica replica = replica_of({2, 3});
  ASSERT_EQ(replica.slots().size(), 2u);
  EXPECT_EQ(replica.slots()[0].name, "exp_avg");
  EXPECT_EQ(replica.slots()[1].name, "exp_avg_sq");
  for (const Slot& slot : replica.slots()) EXPECT_TRUE(slot.values.equal(at::zeros({5})));
  EXPECT_EQ(replica.updates(), 0);
  EXPECT_EQ(replica.learning_rate(), 0.25);
}

TEST(Replica, RefusesTensorsThatAreNotFlatOrDoNotFit) {
  const at::Tensor five = at::zeros({5});
  const at::Tensor none = at::zeros({0});
  EXPECT_NO_THROW(Replica(five, five, none, {5}, kAdam));
  EXPECT_THROW(Replica(at::zeros({5, 1}), five, none, {5}, kAdam), LogicError);
  EXPECT_THROW(Replica(at::zeros({10}).slice(0, 0, 10, 2), five, none, {5}, kAdam), LogicError);
  EXPECT_THROW(Replica(five, at::zeros({4}), none, {5}, kAdam), LogicError);
  EXPECT_THROW(Replica(five, five.to(at::kDouble), none, {5}, kAdam), LogicError);
  EXPECT_THROW(Replica(five, five, at::Tensor(), {5}, kAdam), LogicError);
  EXPECT_THROW(Replica(five, five, none, {2, 2}, kAdam), LogicError);
  EXPECT_THROW(Replica(five, five, none, {6, -1}, kAdam), LogicError);
}

TEST(Replica, UpdatesOnlyTheRangeWithItsLearningRate) {
  Replica replica = replica_of({5}, UpdateRule({.learning_rate = 0.1, .momentum = 0.5}));
  replica.set_learning_rate(0.5);
  replica.update({1, 3});
  EXPECT_TRUE(replica.parameters().equal(at::tensor({1.0f, 0.5f, 0.5f, 1.0f, 1.0f})));
  EXPECT_TRUE(replica.slots()[0].values.equal(at::tensor({0.0f, 1.0f, 1.0f, 0.0f, 0.0f})));
}

TEST(Replica, AResetIsANewBeginning) {
  Replica fresh = replica_of({4});
  fresh.update(fresh.everything());
  Replica reset = replica_of({4});
  for (int step = 0; step < 20; ++step) {
    reset.update(reset.everything());
    reset.end_update();
  }
  reset.parameters().fill_(1);
  reset.reset_slots();
  reset.update(reset.everything());
  EXPECT_TRUE(reset.parameters().equal(fresh.parameters())) << "Adam's correction begins anew too";
}

TEST(Replica, CountsOneUpdateForAllPartsOfAStep) {
  Replica whole = replica_of({5});
  Replica parted = replica_of({5});
  for (int step = 0; step < 3; ++step) {
    whole.update(whole.everything());
    whole.end_update();
    parted.update({3, 5});
    parted.update({0, 3});
    parted.end_update();
  }
  EXPECT_EQ(parted.updates(), 3);
  EXPECT_TRUE(parted.parameters().equal(whole.parameters()));
  // Under constant gradients Adam, its bias corrected by the count, moves by the learning rate.
  EXPECT_TRUE(at::allclose(whole.parameters(), at::full({5}, 1 - 3 * 0.25), 1e-5, 0));
}

TEST(Replica, CutsFromTheEndToTheFront) {
  Replica replica = replica_of({3, 3, 3, 3});
  const std::vector<Bucket>& buckets = replica.cut(2);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].index, 0);
  EXPECT_EQ(buckets[0].range.begin, 6);
  EXPECT_EQ(buckets[0].range.end, 12);
  EXPECT_EQ(buckets[1].index, 1);
  EXPECT_EQ(buckets[1].range.begin, 0);
  EXPECT_EQ(buckets[1].range.end, 6);
  EXPECT_EQ(&buckets, &replica.buckets());
}

TEST(Replica, CutsWholeParametersIntoAboutEqualBuckets) {
  EXPECT_EQ(bucket_sizes({1, 1, 1, 1, 1, 1, 1}, 3), (Sizes{2, 3, 2}));
  EXPECT_EQ(bucket_sizes({100, 1, 1, 1}, 2), (Sizes{3, 100}));
  EXPECT_EQ(bucket_sizes({1, 1, 1, 100}, 2), (Sizes{100, 3}));
  EXPECT_EQ(bucket_sizes({10, 1, 10, 1, 10, 1}, 3), (Sizes{11, 11, 11}));
  EXPECT_EQ(bucket_sizes({5, 6, 7}, 1), (Sizes{18}));
}

TEST(Replica, NeverCutsAnEmptyBucket) {
  EXPECT_EQ(bucket_sizes({2, 3}, 7), (Sizes{3, 2}));
  EXPECT_EQ(bucket_sizes({1, 1, 1, 100}, 4), (Sizes{100, 1, 1, 1}));
  EXPECT_EQ(bucket_sizes({100, 1, 1, 1}, 4), (Sizes{1, 1, 1, 100}));
  EXPECT_EQ(bucket_sizes({0, 4, 0, 4, 0}, 5), (Sizes{4, 4}));
  EXPECT_EQ(bucket_sizes({}, 3), Sizes{});
  EXPECT_THROW(bucket_sizes({1}, 0), LogicError);
}

// A variance of 1 that has shrunk to 0.25 while a mean of 0.5 formed would be -0.25; a mean is.
TEST(LateAverage, LetsNoVarianceBecomeNegative) {
  ThreadsOptions engine;
  engine.cluster.workers = 2;
  make_threads_launcher(engine)->run([](Endpoint& endpoint) {
    const bool is_first = endpoint.self().value == 0;
    Replica replica(at::zeros({1}), at::zeros({1}), at::full({2}, is_first ? 1. : 0.), {1}, kAdam,
                    {{1, 2}});
    replica.cut(1);
    Meter meter;
    LateAverage late(endpoint, meter, replica, {.how = {.deadline = {20}}, .lane = Lane{1}});
    late.start();
    late.launch(Group::everyone(2), 0);
    replica.statistics().fill_(0.25);
    late.correct();
    EXPECT_TRUE(replica.statistics().equal(is_first ? at::tensor({-0.25f, 0.25f})
                                                    : at::tensor({0.75f, 0.75f})));
  });
}

// bfloat16 cannot hold what int8 loses of it.
TEST(ReplicaExchange, HasAllThatLateSlotsNeedFromTheBeginning) {
  const at::Tensor values = at::zeros({5}, at::kBFloat16);
  Replica replica(values, values.clone(), values.clone(), {5},
                  UpdateRule({.learning_rate = 0.1, .momentum = 0.5}));
  const auto names = [&](WireFormat slots_wire) {
    const Travelling late{at::zeros({5}), values};
    const ReplicaExchange exchange(replica, {},
                                   {.slots = SlotPolicy::average,
                                    .slots_wire = slots_wire,
                                    .in_place_of_parameters = late,
                                    .in_place_of_slots = {late}});
    return exchange.tensors();
  };
  EXPECT_EQ(names(WireFormat::int8).count("wire_residuals_1"), 1u);
  EXPECT_TRUE(names(WireFormat::full).empty());
}

TEST(Part, SharesMemoryAndRefusesRangesOutside) {
  const at::Tensor flat = at::zeros({5});
  part(flat, {1, 3}).fill_(1);
  EXPECT_TRUE(flat.equal(at::tensor({0.0f, 1.0f, 1.0f, 0.0f, 0.0f})));
  EXPECT_EQ(part(flat, {5, 5}).numel(), 0);
  EXPECT_THROW(part(flat, {-1, 2}), LogicError);
  EXPECT_THROW(part(flat, {3, 2}), LogicError);
  EXPECT_THROW(part(flat, {0, 6}), LogicError);
}

}  // namespace
}  // namespace huddle
