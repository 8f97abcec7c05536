#include "huddle/strategy/bsp.h"

#include <algorithm>
#include <deque>

#include "huddle/core/error.h"
#include "huddle/core/text.h"

namespace huddle {
namespace {

// Buckets of about this size, when their number is not given: large enough for the full speed of a
// network, small enough that the first can leave early.
constexpr std::int64_t kBucketBytes = 25'000'000;

int bucket_count(std::int64_t asked, const Replica& replica) {
  if (asked > 0) return static_cast<int>(asked);
  const auto bytes = static_cast<std::int64_t>(replica.gradients().nbytes());
  return static_cast<int>(
      std::clamp<std::int64_t>((bytes + kBucketBytes - 1) / kBucketBytes, 1, 64));
}

class Bsp final : public Strategy {
 public:
  Bsp(const Options& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        deadline_(context.averaging.deadline),
        everyone_(Group::everyone(context.endpoint.workers())) {
    const auto buckets = replica_.cut(bucket_count(options.integer("buckets"), replica_)).size();
    overlaps_ = options.text("overlap") == "backward" && buckets > 1 && everyone_.size() > 1;
    Averaging averaging = context.averaging;
    averaging.algorithm = parse_algorithm(options.text("algorithm"));
    // Lane 0 is the worker's own; programs beside it have 1, 2, ...
    const auto lanes = overlaps_ ? options.integer("lanes") : 1;
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      averagers_.emplace_back(averaging, Lane{static_cast<std::uint8_t>(overlaps_ ? lane + 1 : 0)});
  }

  void gradients_ready(Step step, const Bucket& bucket) override {
    if (!overlaps_) return;
    Averager& averager = averagers_[static_cast<std::size_t>(bucket.index) % averagers_.size()];
    Exchange& exchange = exchanges_.emplace_back();
    in_flight_.push_back(endpoint_.spawn(
        lane_of(bucket), [this, step, bucket, &averager, &exchange](Endpoint& lane) {
          exchange = averager.average(lane, everyone_, part(replica_.gradients(), bucket.range),
                                      sequence(step, bucket));
        }));
  }

  Update before_update(Step step) override {
    const Time from = endpoint_.now();
    if (!overlaps_)
      for (const Bucket& bucket : replica_.buckets())
        exchanges_.push_back(averagers_.front().average(endpoint_, everyone_,
                                                        part(replica_.gradients(), bucket.range),
                                                        sequence(step, bucket)));
    for (Pending& average : in_flight_) average.wait(deadline_);
    in_flight_.clear();
    const std::vector<Exchange> exchanges(exchanges_.begin(), exchanges_.end());
    meter_.blocked(exchanges, from, endpoint_.now());
    exchanges_.clear();
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    return {.group = everyone_, .progress = static_cast<double>(step.value + 1)};
  }

 private:
  Lane lane_of(const Bucket& bucket) const {
    return Lane{
        static_cast<std::uint8_t>(1 + static_cast<std::size_t>(bucket.index) % averagers_.size())};
  }

  Sequence sequence(Step step, const Bucket& bucket) const {
    return Sequence{static_cast<std::uint32_t>(
        step.value * static_cast<std::int64_t>(replica_.buckets().size()) + bucket.index)};
  }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  const Deadline deadline_;
  const Group everyone_;
  bool overlaps_ = false;
  std::deque<Averager> averagers_;  // By lane.
  std::deque<Exchange>
      exchanges_;  // Of this step; programs under way write into them, so they must not move.
  std::vector<Pending> in_flight_;  // Last: what is under way ends before what it uses.
};

}  // namespace

SpecInfo bsp_info() {
  return {
      .name = "bsp",
      .summary = "synchronous SGD: everybody's gradients are averaged at every step",
      .keys = {{.name = "algorithm",
                .type = KeyInfo::Type::choice,
                .fallback = "default",
                .help = "how a group averages; default: pair for 2, halving_doubling up to 128 kB, "
                        "else ring",
                .choices = algorithm_names()},
               {.name = "buckets",
                .fallback = "0",
                .help = "how many buckets the gradients travel in; 0: one for every 25 MB",
                .maximum = 1000},
               {.name = "lanes",
                .fallback = "1",
                .help = "how many buckets may travel side by side",
                .minimum = 1,
                .maximum = 60},
               {.name = "overlap",
                .type = KeyInfo::Type::choice,
                .fallback = "backward",
                .help = "backward: buckets travel while backward goes on; none: after it",
                .choices = {"backward", "none"}}},
  };
}

void check_bsp(const Options& options, const StrategySetting& setting) {
  const Algorithm algorithm = parse_algorithm(options.text("algorithm"));
  if (algorithm != Algorithm::automatic)
    make_plan(algorithm, 0, racks_of(Group::everyone(setting.cluster.workers), setting.cluster));
}

std::unique_ptr<Strategy> make_bsp(const Options& options, const StrategyContext& context) {
  return std::make_unique<Bsp>(options, context);
}

}  // namespace huddle
