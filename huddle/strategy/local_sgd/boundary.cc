#include "huddle/strategy/local_sgd/boundary.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/local_sgd/boundary_passes.h"

namespace huddle {
namespace {

constexpr const char* kPreviousRate = "previous_learning_rate";

at::Tensor like(const at::Tensor& tensor, bool is_needed) {
  return is_needed ? at::empty_like(tensor) : at::Tensor();
}

}  // namespace

Boundary::Boundary(const Composition& parts, const StrategyContext& context)
    : endpoint_(context.endpoint),
      replica_(context.replica),
      parts_(parts),
      travelling_(
          parts.keeps_displacement()
              ? at::empty_like(replica_.parameters(), sum_type(replica_.parameters().scalar_type()))
              : like(replica_.parameters(), !parts.overwrites() || parts.sends_delta())),
      reference_(like(replica_.parameters(),
                      parts.has_outer() || parts.sends_delta() || parts.keeps_displacement())),
      velocity_(like(replica_.parameters(), parts.overwrites() && parts.has_outer())),
      statistics_(parts.averages_statistics_late() ? LateValues::of_statistics(replica_)
                                                   : LateValues()),
      // Errors that stay with their worker would add up in models that never travel themselves.
      exchange_(replica_,
                averaging_by(parts.algorithm, context, parts.wire,
                             parts.sends_delta() ? Rounding::forgotten : Rounding::kept),
                {.slots = parts.slots,
                 .statistics = parts.statistics,
                 .slots_wire = parts.slots_wire,
                 .in_place_of_parameters = {travelling_,
                                            parts.keeps_displacement() ? reference_ : at::Tensor()},
                 .in_place_of_statistics = {statistics_.average, statistics_.sent}},
                kRoundLane),
      in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
  check(why_undefined(parts).empty(), "a boundary of parts that do not go together");
  start();  // Buffers hold a model from the first moment on.
}

void Boundary::start() {
  for (const at::Tensor& buffer : {travelling_, reference_})
    if (buffer.defined()) buffer.copy_(replica_.parameters());
  if (velocity_.defined()) velocity_.zero_();
  if (statistics_.average.defined()) statistics_.start();
  previous_rate_ = 0;
}

void Boundary::run(std::int64_t number, const Group& group) {
  in_flight_.settle(endpoint_.now());
  if (statistics_.average.defined()) statistics_.correct();
  parts_.overwrites() ? overwrite(number, group) : pull(number, group);
  if (parts_.slots == SlotPolicy::reset) replica_.reset_slots();
  previous_rate_ = replica_.learning_rate();
}

// The average of this very boundary takes the model's place, directly or through an outer step.
void Boundary::overwrite(std::int64_t number, const Group& group) {
  const at::Tensor& x = replica_.parameters();
  if (parts_.sends_delta()) travelling_.copy_(reference_).sub_(x);
  exchange(number, group);
  if (!reference_.defined()) return;
  const OuterStep step{parts_.outer, parts_.outer_rate, outer_momentum()};
  outer_step(step, x, reference_, velocity_, travelling_);
}

// What the boundary before started is merged, and the next proposal leaves.
void Boundary::pull(std::int64_t number, const Group& group) {
  const at::Tensor& x = replica_.parameters();
  if (parts_.keeps_displacement())
    LateValues{x, travelling_, reference_}.correct();
  else if (parts_.payload == RoundPayload::elastic)
    pull_elastically(x, travelling_, parts_.alpha, endpoint_.workers());
  else
    pull_back({parts_.alpha, outer_momentum()}, x, travelling_, reference_);
  exchange(number, group);
}

void Boundary::exchange(std::int64_t number, const Group& group) {
  const AveragesInFlight::Average average = [this, number, group](Endpoint& endpoint) {
    return exchange_.run(endpoint, group, number);
  };
  if (parts_.delay == Delay::one_round) return in_flight_.start(kRoundLane, average);
  const Time from = endpoint_.now();
  in_flight_.run(average);
  in_flight_.settle(from);
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
  if (parts_.overwrites()) return {};
  in_flight_.land();
  return travelling_;
}

std::map<std::string, at::Tensor> Boundary::tensors() const {
  std::map<std::string, at::Tensor> tensors = {{"travelling", travelling_},
                                               {"reference", reference_},
                                               {"velocity", velocity_},
                                               {"statistics_travelling", statistics_.average},
                                               {"statistics_sent", statistics_.sent}};
  std::erase_if(tensors, [](const auto& entry) { return !entry.second.defined(); });
  return tensors;
}

void Boundary::save(Archive& archive) const {
  in_flight_.settle(endpoint_.now());
  archive.tensors.merge(tensors());
  archive.tensors.merge(exchange_.tensors());
  archive.tensors[kPreviousRate] = at::scalar_tensor(previous_rate_, at::kDouble);
}

void Boundary::load(const Archive& archive) {
  const auto saved = [&](const std::string& name) {
    if (!archive.tensors.contains(name))
      throw UsageError("the checkpoint is of another strategy: it has no '" + name + "'.");
    return archive.tensors.at(name);
  };
  for (const auto& [name, tensor] : tensors()) {
    if (saved(name).sizes() != tensor.sizes())
      throw UsageError("the checkpoint is of another model: '" + name + "' differs in shape.");
    tensor.copy_(saved(name));
  }
  previous_rate_ = saved(kPreviousRate).item<double>();
  exchange_.load(archive.tensors);
}

}  // namespace huddle
