#include "huddle/train/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

using SplitKind = SplitSpec::Kind;

std::vector<int> balanced_labels(int per_class, int classes) {
  std::vector<int> labels;
  for (int sample = 0; sample < per_class * classes; ++sample) labels.push_back(sample % classes);
  return labels;
}

std::vector<std::size_t> sizes(const Shards& shards) {
  std::vector<std::size_t> all;
  for (const auto& shard : shards) all.push_back(shard.size());
  return all;
}

std::size_t total(const Shards& shards) {
  const std::vector<std::size_t> all = sizes(shards);
  return std::accumulate(all.begin(), all.end(), std::size_t{0});
}

std::size_t distinct(const Shards& shards, std::size_t samples) {
  std::set<std::int64_t> seen;
  for (const auto& shard : shards) seen.insert(shard.begin(), shard.end());
  if (!seen.empty()) {
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), static_cast<std::int64_t>(samples));
  }
  return seen.size();
}

std::int64_t count_of(int label, const std::vector<std::int64_t>& shard,
                      const std::vector<int>& labels) {
  return std::count_if(shard.begin(), shard.end(), [&](std::int64_t sample) {
    return labels[static_cast<std::size_t>(sample)] == label;
  });
}

std::string refusal(const std::string& text) {
  try {
    parse_split(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SplitSpec, IsReadBackAsWritten) {
  for (const std::string text :
       {"iid", "fixed", "dirichlet:0.5", "dirichlet:100", "skew:0.64", "skew:1", "rare:3"})
    EXPECT_EQ(to_string(parse_split(text)), text);
  EXPECT_EQ(parse_split("dirichlet:0.5"), (SplitSpec{.kind = SplitKind::dirichlet, .value = 0.5}));
}

TEST(SplitSpec, SuggestsTheNearestName) {
  EXPECT_NE(refusal("dirichle:0.5").find("did you mean 'dirichlet'"), std::string::npos);
  EXPECT_NE(refusal("").find("iid, fixed, dirichlet, skew"), std::string::npos);
}

TEST(SplitSpec, RefusesValuesThatAreMissingOutOfRangeOrNotNumbers) {
  for (const std::string text :
       {"skew", "skew:", "skew:0", "skew:1.1", "skew:-1", "skew:nan", "skew:0.5x", "skew:0.5:0.5"})
    EXPECT_NE(refusal(text).find("above 0 and at most 1"), std::string::npos) << text;
  for (const std::string text : {"dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:0.001",
                                 "dirichlet:inf", "dirichlet:a"})
    EXPECT_NE(refusal(text).find("from 0.01 to 1000"), std::string::npos) << text;
  for (const std::string text : {"rare", "rare:", "rare:-1", "rare:1.5", "rare:x"})
    EXPECT_NE(refusal(text).find("for example rare:3"), std::string::npos) << text;
}

TEST(SplitSpec, RefusesAValueWhereNoneIsTaken) {
  EXPECT_NE(refusal("iid:3").find("write just iid"), std::string::npos);
  EXPECT_NE(refusal("fixed:").find("write just fixed"), std::string::npos);
}

TEST(DealOut, RepeatsWithEqualSeedsAndDiffersWithOthers) {
  const std::vector<int> labels = balanced_labels(50, 10);
  for (const std::string text : {"fixed", "dirichlet:0.5", "skew:0.64", "rare:3"}) {
    const SplitSpec split = parse_split(text);
    EXPECT_EQ(deal_out(split, labels, 7, 3), deal_out(split, labels, 7, 3)) << text;
    EXPECT_NE(deal_out(split, labels, 7, 3), deal_out(split, labels, 7, 4)) << text;
  }
}

TEST(DealOut, GivesNoSampleToTwoWorkers) {
  const std::vector<int> labels = balanced_labels(101, 10);
  for (const std::string text : {"fixed", "dirichlet:0.1", "dirichlet:10", "skew:0.3", "skew:1"}) {
    for (const int workers : {1, 2, 3, 16, 37}) {
      const Shards shards = deal_out(parse_split(text), labels, workers, 1);
      ASSERT_EQ(shards.size(), static_cast<std::size_t>(workers));
      EXPECT_EQ(distinct(shards, labels.size()), total(shards)) << text << " " << workers;
    }
  }
}

TEST(DealOut, MakesEqualShardsForFixedAndSkew) {
  const std::vector<int> labels = balanced_labels(101, 10);
  for (const std::string text : {"fixed", "skew:0.5"}) {
    const std::vector<std::size_t> all = sizes(deal_out(parse_split(text), labels, 16, 1));
    EXPECT_EQ(all, std::vector<std::size_t>(16, 1010 / 16)) << text;
  }
}

TEST(DealOut, LeavesShardsEmptyWhenThereAreMoreWorkersThanSamples) {
  const std::vector<int> labels{0, 1, 2};
  for (const std::string text : {"fixed", "skew:0.5"})
    EXPECT_EQ(total(deal_out(parse_split(text), labels, 5, 1)), 0u) << text;
  EXPECT_EQ(total(deal_out(parse_split("dirichlet:1"), labels, 5, 1)), 3u);
  for (const std::string text : {"fixed", "dirichlet:1", "skew:0.5"})
    EXPECT_EQ(total(deal_out(parse_split(text), {}, 5, 1)), 0u) << text;
}

TEST(DealOut, GivesEverySampleAwayForDirichlet) {
  const std::vector<int> labels = balanced_labels(101, 10);
  for (const std::string text : {"dirichlet:0.01", "dirichlet:0.5", "dirichlet:1000"})
    for (const int workers : {1, 2, 13})
      EXPECT_EQ(distinct(deal_out(parse_split(text), labels, workers, 5), 1010), 1010u) << text;
}

TEST(DealOut, SpreadsClassesByTheDirichletConcentration) {
  // The variance of one share of a symmetric Dirichlet over N workers is (N - 1) / (N^2 (N A + 1)).
  const int workers = 8;
  const int classes = 200;
  const double per_class = 400;
  const std::vector<int> labels = balanced_labels(static_cast<int>(per_class), classes);
  for (const double concentration : {0.5, 5.0}) {
    const Shards shards =
        deal_out({.kind = SplitKind::dirichlet, .value = concentration}, labels, workers, 11);
    double variance = 0;
    for (const auto& shard : shards) {
      std::vector<double> counts(classes);
      for (const std::int64_t sample : shard)
        ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(sample)])];
      for (const double count : counts)
        variance += (count / per_class - 1.0 / workers) * (count / per_class - 1.0 / workers);
    }
    variance /= workers * classes;
    const double expected = (workers - 1.0) / (workers * workers * (workers * concentration + 1));
    EXPECT_NEAR(variance, expected, 0.15 * expected) << concentration;
  }
}

TEST(DealOut, GivesEachWorkerItsShareOfOneClassForSkew) {
  // The published setting: 16 workers, 50,000 samples, 2,000 of one class in each shard of 3,125.
  const std::vector<int> labels = balanced_labels(5000, 10);
  const Shards shards = deal_out(parse_split("skew:0.64"), labels, 16, 1234);
  double taken_once = 0;
  double taken_twice = 0;
  for (int worker = 0; worker < 16; ++worker) {
    const auto& shard = shards[static_cast<std::size_t>(worker)];
    ASSERT_EQ(shard.size(), 3125u);
    const int label = main_class(WorkerId{worker}, 10);
    const double share = static_cast<double>(count_of(label, shard, labels)) / 3125;
    EXPECT_GE(share, 0.64) << worker;
    const bool once = label == 0 || label == 4 || label == 6 || label == 8;
    (once ? taken_once : taken_twice) += share;
  }
  EXPECT_NEAR(taken_once / 4, 0.70, 0.01);
  EXPECT_NEAR(taken_twice / 12, 0.66, 0.01);
}

TEST(DealOut, SharesAClassEquallyWhenItRunsOut) {
  // Two workers want 50 samples each of every class. Of class 0 there are only 10.
  std::vector<int> labels = balanced_labels(100, 10);
  for (int& label : labels) label = label == 0 && (&label - labels.data()) % 100 != 0 ? 1 : label;
  ASSERT_EQ(std::count(labels.begin(), labels.end(), 0), 10);
  const Shards shards = deal_out(parse_split("skew:1"), labels, 20, 1);
  EXPECT_EQ(main_class(WorkerId{0}, 10), 0);
  EXPECT_EQ(main_class(WorkerId{19}, 10), 0);
  EXPECT_EQ(count_of(0, shards[0], labels), 5);
  EXPECT_EQ(count_of(0, shards[19], labels), 5);
  EXPECT_EQ(sizes(shards), std::vector<std::size_t>(20, 50));
  EXPECT_EQ(count_of(2, shards[2], labels), 50);
}

TEST(DealOut, GivesTheRareClassToTheLastWorkerAlone) {
  for (const int workers : {1, 2, 4, 25}) {
    const std::vector<int> labels = balanced_labels(100, 10);
    const Shards shards = deal_out({SplitKind::rare, 3}, labels, workers, 7);
    EXPECT_EQ(distinct(shards, labels.size()), total(shards));
    for (const auto& shard : shards) {
      EXPECT_EQ(shard.size(), shards.back().size());
      EXPECT_EQ(count_of(3, shard, labels) > 0, &shard == &shards.back());
    }
    // The last worker's shard is the class alone where it is small enough.
    EXPECT_EQ(count_of(3, shards.back(), labels), workers == 25 ? 37 : 100);
  }
}

TEST(DealOut, RefusesARareClassThatDoesNotExist) {
  const std::vector<int> labels = balanced_labels(10, 10);
  EXPECT_THROW(deal_out({SplitKind::rare, 10}, labels, 4, 7), UsageError);
}

TEST(DealOut, RefusesWhatHasNoShards) {
  const std::vector<int> labels{0, 1};
  EXPECT_THROW(deal_out(parse_split("iid"), labels, 1, 1), LogicError);
  EXPECT_THROW(deal_out(parse_split("fixed"), labels, 0, 1), LogicError);
  EXPECT_THROW(deal_out(parse_split("skew:1"), std::vector<int>{0, -1}, 1, 1), LogicError);
}

TEST(MainClass, FollowsThePublishedOrder) {
  std::vector<int> order;
  for (int worker = 0; worker < 32; ++worker) order.push_back(main_class(WorkerId{worker}, 10));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 3, 5, 7, 9, 2,  //
                                     4, 6, 8, 0, 1, 3, 5, 7, 9, 2, 4, 6, 8, 0, 1, 3}));
}

TEST(MainClass, TakesEachClassOncePerRound) {
  for (const int classes : {1, 2, 3, 7}) {
    std::set<int> second_round;
    for (int worker = classes; worker < 2 * classes; ++worker)
      second_round.insert(main_class(WorkerId{worker}, classes));
    EXPECT_EQ(second_round.size(), static_cast<std::size_t>(classes));
    EXPECT_EQ(*second_round.begin(), 0);
    EXPECT_EQ(*second_round.rbegin(), classes - 1);
  }
}

}  // namespace
}  // namespace huddle
