// The mean gradient of a group at every step, while backward still goes on: all of synchronous SGD,
// and the part that other strategies borrow for their first steps or inside a rack.
//
// Gradients travel in fused buckets, last layers first: a bucket's average starts as soon as
// backward has finished it. Buckets follow one another in one lane, or in several side by side.
// Cost per step: what the algorithm costs for M bytes, cut into as many averages as there are
// buckets.

#pragma once

#include <cstdint>
#include <deque>

#include "huddle/collective/average.h"
#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/registry.h"

namespace huddle {

struct GradientOptions {
  enum class Overlap { none, backward };

  Algorithm algorithm = Algorithm::automatic;
  std::int64_t buckets = 0;  // 0: one for every 25 MB.
  std::int64_t lanes = 1;    // At most kGradientLanes.
  Overlap overlap = Overlap::backward;
};

// The key `buckets` of whoever lets gradients travel.
KeyInfo buckets_key();

// How many buckets to cut into where `asked` is 0: one for every 25 MB.
int bucket_count(std::int64_t asked, const Replica& replica);

class GradientAveraging {
 public:
  // Cuts the replica into buckets. REQUIRES: every member makes one alike, and the worker is a
  // member.
  GradientAveraging(const StrategyContext& context, Group group, const GradientOptions& options);

  // A bucket's gradients are complete: they may travel.
  void ready(Step step, const Bucket& bucket);

  // Waits until the gradients of this step are the group's mean.
  void complete(Step step);

  const Group& group() const { return group_; }

 private:
  AveragesInFlight::Average average(Step step, const Bucket& bucket);
  std::size_t lane_index(const Bucket& bucket) const;

  Endpoint& endpoint_;
  Replica& replica_;
  const Group group_;
  bool overlaps_ = false;
  std::deque<Averager> averagers_;  // By lane.
  AveragesInFlight in_flight_;      // Last: what is under way ends before what it uses.
};

}  // namespace huddle
