#include "huddle/strategy/local_sgd/boundary.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/local_sgd/boundary_passes.h"

namespace huddle {
namespace {

constexpr const char* kPreviousRate = "previous_learning_rate";

Averaging averaging(const Composition& parts, const StrategyContext& context) {
  Averaging how = context.averaging;
  how.algorithm = parts.algorithm;
  return how;
}

}  // namespace

Boundary::Boundary(const Composition& parts, const StrategyContext& context)
    : endpoint_(context.endpoint),
      replica_(context.replica),
      parts_(parts),
      averager_(averaging(parts, context), kRoundLane),
      in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
  check(why_undefined(parts).empty(), "a boundary of parts that do not go together");
  allocate();
  start();  // Buffers hold a model from the first moment on.
}

void Boundary::allocate() {
  const at::Tensor& model = replica_.parameters();
  const bool overwrites = parts_.merge == Merge::overwrite;
  if (!overwrites || parts_.payload == RoundPayload::delta) travelling_ = at::empty_like(model);
  if (parts_.outer != Outer::none || parts_.payload == RoundPayload::delta ||
      parts_.merge == Merge::keep_displacement)
    reference_ = at::empty_like(model);
  if (overwrites && parts_.outer != Outer::none) velocity_ = at::empty_like(model);
  if (statistics_travel_late()) {
    statistics_travelling_ = at::empty_like(replica_.statistics());
    statistics_sent_ = at::empty_like(replica_.statistics());
  }
}

void Boundary::start() {
  for (const at::Tensor& buffer : {travelling_, reference_})
    if (buffer.defined()) buffer.copy_(replica_.parameters());
  if (velocity_.defined()) velocity_.zero_();
  for (const at::Tensor& buffer : {statistics_travelling_, statistics_sent_})
    if (buffer.defined()) buffer.copy_(replica_.statistics());
  previous_rate_ = 0;
}

void Boundary::run(std::int64_t number, const Group& group) {
  in_flight_.settle(endpoint_.now());
  if (statistics_travel_late())
    keep_displacement(replica_.statistics(), statistics_travelling_, statistics_sent_);
  if (parts_.merge == Merge::overwrite)
    overwrite(number, group);
  else
    pull(number, group);
  if (parts_.slots == SlotPolicy::reset) replica_.reset_slots();
  previous_rate_ = replica_.learning_rate();
}

// The average of this very boundary takes the model's place, directly or through an outer step.
void Boundary::overwrite(std::int64_t number, const Group& group) {
  const at::Tensor& x = replica_.parameters();
  const bool by_delta = parts_.payload == RoundPayload::delta;
  if (by_delta) measure_delta(travelling_, reference_, x);
  exchange(by_delta ? travelling_ : x, number, group);
  if (!reference_.defined()) return;
  const OuterStep step{parts_.outer, parts_.outer_rate, outer_momentum()};
  outer_step(step, x, reference_, velocity_, travelling_);
}

// What the boundary before started is merged, and the next proposal leaves.
void Boundary::pull(std::int64_t number, const Group& group) {
  const at::Tensor& x = replica_.parameters();
  if (parts_.merge == Merge::keep_displacement)
    keep_displacement(x, travelling_, reference_);
  else if (parts_.payload == RoundPayload::elastic)
    pull_elastically(x, travelling_, parts_.alpha, endpoint_.workers());
  else
    pull_back({parts_.alpha, outer_momentum()}, x, travelling_, reference_);
  exchange(travelling_, number, group);
}

void Boundary::exchange(const at::Tensor& payload, std::int64_t number, const Group& group) {
  std::vector<at::Tensor> tensors = {payload};
  if (parts_.slots == SlotPolicy::average)
    for (const Slot& slot : replica_.slots()) tensors.push_back(slot.values);
  if (parts_.statistics == StatisticsPolicy::average)
    tensors.push_back(statistics_travel_late() ? statistics_travelling_ : replica_.statistics());
  const AveragesInFlight::Average average = [this, number, group, tensors](Endpoint& endpoint) {
    auto sequence = static_cast<std::uint32_t>(number * static_cast<std::int64_t>(tensors.size()));
    Exchange total = averager_.average(endpoint, group, tensors.front(), Sequence{sequence});
    for (std::size_t i = 1; i < tensors.size(); ++i)
      append(total, averager_.average(endpoint, group, tensors[i], Sequence{++sequence}));
    return total;
  };
  if (parts_.delay == Delay::one_round) {
    in_flight_.start(kRoundLane, average);
    return;
  }
  const Time from = endpoint_.now();
  in_flight_.run(average);
  in_flight_.settle(from);
}

bool Boundary::statistics_travel_late() const {
  return parts_.statistics == StatisticsPolicy::average && parts_.delay == Delay::one_round;
}

// A heavy ball's velocity belongs to the gradients and is kept in units of parameters, so that
// nothing is divided by a small learning rate; a new rate then scales it. After a rate of 0 there
// is nothing to scale by.
double Boundary::outer_momentum() const {
  if (parts_.outer != Outer::heavy_ball || previous_rate_ == 0) return parts_.outer_momentum;
  const double factor = replica_.learning_rate() / previous_rate_;
  return parts_.outer_momentum *
         (parts_.rescale == Rescale::at_most_one ? std::min(factor, 1.0) : factor);
}

void Boundary::finish() { in_flight_.settle(endpoint_.now()); }

at::Tensor Boundary::anchor() const {
  if (parts_.merge == Merge::overwrite) return {};
  in_flight_.land();
  return travelling_;
}

std::map<std::string, at::Tensor> Boundary::tensors() const {
  std::map<std::string, at::Tensor> tensors = {{"travelling", travelling_},
                                               {"reference", reference_},
                                               {"velocity", velocity_},
                                               {"statistics_travelling", statistics_travelling_},
                                               {"statistics_sent", statistics_sent_}};
  std::erase_if(tensors, [](const auto& entry) { return !entry.second.defined(); });
  return tensors;
}

void Boundary::save(Archive& archive) const {
  in_flight_.land();
  archive.tensors.merge(tensors());
  archive.tensors[kPreviousRate] = at::scalar_tensor(previous_rate_, at::kDouble);
}

void Boundary::load(const Archive& archive) {
  const auto saved = [&](const std::string& name) {
    const auto found = archive.tensors.find(name);
    if (found == archive.tensors.end())
      throw UsageError("the checkpoint is of another strategy: it has no '" + name + "'.");
    return found->second;
  };
  for (const auto& [name, tensor] : tensors()) {
    if (saved(name).sizes() != tensor.sizes())
      throw UsageError("the checkpoint does not fit the model: '" + name +
                       "' is of another shape.");
    tensor.copy_(saved(name));
  }
  previous_rate_ = saved(kPreviousRate).item<double>();
}

}  // namespace huddle
