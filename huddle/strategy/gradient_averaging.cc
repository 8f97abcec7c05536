#include "huddle/strategy/gradient_averaging.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// Buckets of about this size, when their number is not given: large enough for the full speed of a
// network, small enough that the first can leave early.
constexpr std::int64_t kBucketBytes = 25'000'000;

constexpr const char* kResiduals = "gradient_residuals";

}  // namespace

KeyInfo buckets_key() {
  return {.name = "buckets",
          .fallback = "0",
          .help = "how many buckets the gradients travel in; 0: one for every 25 MB",
          .maximum = 1000};
}

int bucket_count(std::int64_t asked, const Replica& replica) {
  if (asked > 0) return static_cast<int>(asked);
  const auto bytes = static_cast<std::int64_t>(replica.gradients().nbytes());
  return static_cast<int>(
      std::clamp<std::int64_t>((bytes + kBucketBytes - 1) / kBucketBytes, 1, 64));
}

GradientAveraging::GradientAveraging(const StrategyContext& context, const GradientOptions& options)
    : endpoint_(context.endpoint),
      replica_(context.replica),
      in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
  check(1 <= options.lanes && options.lanes <= kGradientLanes, "more lanes than gradients have");
  if (options.buckets) replica_.cut(bucket_count(*options.buckets, replica_));
  overlaps_ = options.overlap == GradientOptions::Overlap::backward &&
              replica_.buckets().size() > 1 && endpoint_.workers() > 1;
  if (options.wire == WireFormat::int8)
    residuals_ = at::zeros_like(replica_.gradients(), sum_type(replica_.gradients().scalar_type()));
  // Lane 0 is the worker's own; programs beside it have 1, 2, ...
  const std::int64_t lanes = overlaps_ ? options.lanes : 1;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    averagers_.emplace_back(
        averaging_by(options.algorithm, context, options.wire, Rounding::forgotten),
        Lane{static_cast<std::uint8_t>(overlaps_ ? lane + 1 : 0)});
}

void GradientAveraging::ready(Step step, const Group& group, const Bucket& bucket) {
  if (!overlaps_) return;
  in_flight_.start(Lane{static_cast<std::uint8_t>(1 + lane_index(bucket))},
                   average(step, group, bucket));
}

void GradientAveraging::complete(Step step, const Group& group) {
  const Time from = endpoint_.now();
  if (!overlaps_)
    for (const Bucket& bucket : replica_.buckets()) in_flight_.run(average(step, group, bucket));
  in_flight_.settle(from);
}

AveragesInFlight::Average GradientAveraging::average(Step step, const Group& group,
                                                     const Bucket& bucket) {
  const Sequence sequence{static_cast<std::uint32_t>(
      step.value * static_cast<std::int64_t>(replica_.buckets().size()) + bucket.index)};
  return [this, sequence, group, bucket,
          &averager = averagers_[lane_index(bucket)]](Endpoint& endpoint) {
    const at::Tensor gradients = part(replica_.gradients(), bucket.range);
    if (!residuals_.defined()) return averager.average(endpoint, group, gradients, sequence);
    return averager.average_with_residuals(endpoint, group, gradients, sequence,
                                           part(residuals_, bucket.range));
  };
}

void GradientAveraging::save(Archive& archive) const {
  if (residuals_.defined()) archive.tensors[kResiduals] = residuals_;
}

void GradientAveraging::load(const Archive& archive) {
  if (!residuals_.defined()) return;
  const auto saved = archive.tensors.find(kResiduals);
  if (saved == archive.tensors.end() || saved->second.sizes() != residuals_.sizes())
    throw UsageError(
        "the checkpoint holds no errors of rounding that wire=int8 would carry on: it is of "
        "another "
        "wire format or model. Begin anew.");
  residuals_.copy_(saved->second);
}

std::size_t GradientAveraging::lane_index(const Bucket& bucket) const {
  return static_cast<std::size_t>(bucket.index) % averagers_.size();
}

}  // namespace huddle
