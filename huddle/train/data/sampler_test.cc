#include "huddle/train/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

using Batch = std::vector<std::int64_t>;

std::vector<int> labels_of(int samples) {
  std::vector<int> labels;
  for (int sample = 0; sample < samples; ++sample) labels.push_back(sample % 10);
  return labels;
}

Sampler make(const std::string& split, int samples, int workers, std::int64_t batch, int worker = 0,
             Random::Seed seed = 1) {
  const SamplerOptions options{
      .split = parse_split(split), .workers = workers, .batch = batch, .seed = seed};
  return Sampler(options, labels_of(samples), WorkerId{worker});
}

Batch joined_batches(Sampler sampler, std::int64_t steps) {
  Batch all;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Batch batch = sampler.batch(Step{step});
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

std::size_t distinct(const Batch& samples) {
  return std::set<std::int64_t>(samples.begin(), samples.end()).size();
}

Batch slice(const Batch& from, std::size_t first, std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  return Batch(begin, begin + static_cast<std::ptrdiff_t>(count));
}

Batch sorted(Batch samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

std::string refusal(const std::string& split, int samples, int workers, std::int64_t batch,
                    int worker = 0) {
  try {
    make(split, samples, workers, batch, worker);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

const std::vector<std::string> kSplits{"iid", "fixed", "dirichlet:5", "skew:0.64"};

TEST(Sampler, RepeatsWithEqualSeeds) {
  for (const std::string& split : kSplits)
    EXPECT_EQ(joined_batches(make(split, 400, 4, 7, 2), 60),
              joined_batches(make(split, 400, 4, 7, 2), 60))
        << split;
}

TEST(Sampler, DiffersWithOtherSeeds) {
  for (const std::string& split : kSplits)
    EXPECT_NE(joined_batches(make(split, 400, 4, 7, 2, 1), 5),
              joined_batches(make(split, 400, 4, 7, 2, 2), 5))
        << split;
}

TEST(Sampler, GivesTheSameNumbersOnEveryMachine) {
  EXPECT_EQ(make("iid", 20, 2, 3, 1, 42).batch(Step{4}), (Batch{17, 11, 16}));
}

TEST(Sampler, AnswersAnyStepWithoutTheStepsBefore) {
  for (const std::string& split : kSplits) {
    Sampler in_order = make(split, 400, 4, 7, 3);
    std::vector<Batch> batches;
    for (std::int64_t step = 0; step < 80; ++step) batches.push_back(in_order.batch(Step{step}));
    Sampler jumping = make(split, 400, 4, 7, 3);
    for (const std::int64_t step : {79, 0, 41, 40, 14, 79})
      EXPECT_EQ(jumping.batch(Step{step}), batches[static_cast<std::size_t>(step)])
          << split << " " << step;
  }
}

TEST(Sampler, ShowsEachSampleOncePerEpochUnderIid) {
  // 4 workers x 5 steps x batch 6 = 120 samples: exactly an epoch.
  Batch first;
  Batch second;
  for (int worker = 0; worker < 4; ++worker) {
    const Batch both = joined_batches(make("iid", 120, 4, 6, worker), 10);
    for (std::size_t place = 0; place < both.size(); ++place)
      (place < 30 ? first : second).push_back(both[place]);
  }
  EXPECT_EQ(distinct(first), 120u);
  EXPECT_EQ(distinct(second), 120u);
  EXPECT_NE(first, second);
}

TEST(Sampler, DealsOutOneStreamOfPermutationsUnderIid) {
  // 3 workers x batch 4 does not divide 50, so batches cross the ends of epochs.
  Batch stream;
  for (std::int64_t step = 0; step < 25; ++step)
    for (int worker = 0; worker < 3; ++worker) {
      const Batch batch = make("iid", 50, 3, 4, worker).batch(Step{step});
      ASSERT_EQ(batch.size(), 4u);
      stream.insert(stream.end(), batch.begin(), batch.end());
    }
  ASSERT_EQ(stream.size(), 300u);
  for (std::size_t epoch = 0; epoch < 6; ++epoch)
    EXPECT_EQ(distinct(slice(stream, epoch * 50, 50)), 50u) << epoch;
}

TEST(Sampler, GoesThroughAFixedShardInOneOrderForEver) {
  // A shard of 100 / 4 = 25 in batches of 10: 5 steps are two passes.
  const Batch four_passes = joined_batches(make("fixed", 100, 4, 10, 1), 10);
  const Batch pass = slice(four_passes, 0, 25);
  EXPECT_EQ(distinct(pass), 25u);
  for (const std::size_t next : {1u, 2u, 3u})
    EXPECT_EQ(slice(four_passes, next * 25, 25), pass) << next;
}

TEST(Sampler, ReshufflesUnevenShardsOnEachPass) {
  for (const std::string split : {"dirichlet:5", "skew:0.64"}) {
    const std::vector<int> labels = labels_of(400);
    const std::size_t shard = deal_out(parse_split(split), labels, 4, 1)[2].size();
    const Batch stream =
        joined_batches(make(split, 400, 4, 1, 2), static_cast<std::int64_t>(2 * shard));
    const Batch first = slice(stream, 0, shard);
    const Batch second = slice(stream, shard, shard);
    EXPECT_EQ(sorted(first), sorted(deal_out(parse_split(split), labels, 4, 1)[2])) << split;
    EXPECT_EQ(sorted(first), sorted(second)) << split;
    EXPECT_NE(first, second) << split;
  }
}

TEST(Sampler, KeepsWorkersApartWithinAnEpoch) {
  for (const std::string& split : kSplits) {
    Batch all;
    for (int worker = 0; worker < 4; ++worker) {
      const Batch own = joined_batches(make(split, 400, 4, 5, worker), 6);
      all.insert(all.end(), own.begin(), own.end());
    }
    EXPECT_EQ(distinct(all), all.size()) << split;
  }
}

TEST(Sampler, CountsStepsPerEpochRoundedDown) {
  EXPECT_EQ(make("iid", 100, 3, 8).steps_per_epoch(), 4);
  EXPECT_EQ(make("fixed", 100, 3, 33).steps_per_epoch(), 1);
  EXPECT_EQ(make("dirichlet:5", 400, 4, 2, 3).steps_per_epoch(), 50);
  EXPECT_EQ(make("iid", 1, 1, 1).steps_per_epoch(), 1);
}

TEST(Sampler, AcceptsABatchAsLargeAsTheShard) {
  for (const std::string split : {"iid", "fixed", "skew:0.64"})
    EXPECT_EQ(distinct(make(split, 100, 4, 25, 3).batch(Step{7})), 25u) << split;
}

TEST(Sampler, RefusesABatchLargerThanAShard) {
  for (const std::string split : {"iid", "fixed", "skew:0.64"}) {
    const std::string message = refusal(split, 100, 3, 34);
    EXPECT_NE(message.find(split), std::string::npos) << message;
    EXPECT_NE(message.find("worker 0 has a shard of 33 samples"), std::string::npos) << message;
    EXPECT_NE(message.find("batch of 34"), std::string::npos) << message;
    EXPECT_NE(message.find("use a batch of 33 or less"), std::string::npos) << message;
  }
}

TEST(Sampler, RefusesOnEveryWorkerWhatSuitsOnlySome) {
  const Shards shards = deal_out(parse_split("dirichlet:0.5"), labels_of(400), 4, 1);
  const auto smaller = [](const Batch& a, const Batch& b) { return a.size() < b.size(); };
  const auto [smallest, largest] = std::minmax_element(shards.begin(), shards.end(), smaller);
  const auto size = static_cast<std::int64_t>(smallest->size());
  ASSERT_GT(size, 0);
  ASSERT_LT(smallest->size(), largest->size());
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(refusal("dirichlet:0.5", 400, 4, size + 1, worker),
              refusal("dirichlet:0.5", 400, 4, size + 1, 0));
    EXPECT_NE(refusal("dirichlet:0.5", 400, 4, size + 1, worker).find("use a batch of"),
              std::string::npos);
    EXPECT_EQ(refusal("dirichlet:0.5", 400, 4, size, worker), "accepted");
  }
}

TEST(Sampler, SuggestsNoBatchWhenAShardIsEmpty) {
  const std::string message = refusal("fixed", 3, 5, 1);
  EXPECT_NE(message.find("use fewer workers than 5"), std::string::npos) << message;
  EXPECT_EQ(message.find("use a batch of"), std::string::npos) << message;
}

TEST(Sampler, RefusesNonsense) {
  EXPECT_THROW(make("iid", 10, 2, 1, 2), LogicError);
  EXPECT_THROW(make("iid", 10, 2, 0), LogicError);
  EXPECT_THROW(make("iid", 10, 2, 1).batch(Step{-1}), LogicError);
}

}  // namespace
}  // namespace huddle
