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
#include <optional>

#include "huddle/collective/average.h"
#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/entry.h"
#include "huddle/strategy/lanes.h"

namespace huddle {

struct GradientOptions {
  enum class Overlap { none, backward };

  Algorithm algorithm = Algorithm::automatic;
  // Into how many the replica is cut; 0: one for every 25 MB; nothing: it stays as it is cut.
  std::optional<std::int64_t> buckets = {};
  std::int64_t lanes = 1;  // At most kGradientLanes.
  Overlap overlap = Overlap::backward;
  // What rounding loses of a gradient is forgotten, but for int8, where it is added to the next
  // one.
  WireFormat wire = WireFormat::full;
};

// The key `buckets` of whoever lets gradients travel.
KeyInfo buckets_key();

// How many buckets to cut into where `asked` is 0: one for every 25 MB.
int bucket_count(std::int64_t asked, const Replica& replica);

class GradientAveraging {
 public:
  // REQUIRES: every worker makes one alike.
  GradientAveraging(const StrategyContext& context, const GradientOptions& options);

  // A bucket's gradients are complete: they may travel within `group`.
  void ready(Step step, const Group& group, const Bucket& bucket);

  // Waits until the gradients of this step are the group's mean. REQUIRES: the group that all
  // buckets of the step were given.
  void complete(Step step, const Group& group);

  // What a resumed run needs.
  void save(Archive& archive) const;
  void load(const Archive& archive);

 private:
  AveragesInFlight::Average average(Step step, const Group& group, const Bucket& bucket);
  std::size_t lane_index(const Bucket& bucket) const;

  Endpoint& endpoint_;
  Replica& replica_;
  bool overlaps_ = false;
  at::Tensor residuals_;            // Where rounding's errors are carried on.
  std::deque<Averager> averagers_;  // By lane.
  AveragesInFlight in_flight_;      // Last: what is under way ends before what it uses.
};

}  // namespace huddle
