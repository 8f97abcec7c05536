#include "huddle/replica/replica_exchange.h"

#include <ATen/ops/zeros_like.h>

#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/replica/averages_in_flight.h"

namespace huddle {
namespace {

Averaging in_format(Averaging how, WireFormat wire) {
  how.wire = wire;
  return how;
}

// Small optimizer state would be rounded to nothing, again and again.
Averaging keeping_errors(Averaging how) {
  how.rounding = Rounding::kept;
  return how;
}

// Whether what was sent is of too narrow a type to hold what rounding loses of it.
bool is_coarse(const Travelling& late) {
  return late.sent.scalar_type() != late.values.scalar_type();
}

at::Tensor residuals_of(const Travelling& what) {
  return at::zeros_like(what.values, sum_type(what.values.scalar_type()));
}

std::string residuals_name(std::size_t index) { return concat("wire_residuals_", index); }

}  // namespace

ReplicaExchange::ReplicaExchange(const Replica& replica, const Averaging& how, Cargo cargo,
                                 Lane lane)
    : replica_(replica),
      cargo_([&] {
        if (!cargo.in_place_of_parameters.values.defined())
          cargo.in_place_of_parameters.values = replica.parameters();
        if (!cargo.in_place_of_statistics.values.defined())
          cargo.in_place_of_statistics.values = replica.statistics();
        if (cargo.in_place_of_slots.empty())
          for (const Slot& slot : replica.slots()) cargo.in_place_of_slots.push_back({slot.values});
        return std::move(cargo);
      }()),
      pairs_are_near_(how.wire == WireFormat::int8),
      parameters_(how, lane),
      slots_(keeping_errors(in_format(how, cargo_.slots_wire.value_or(how.wire))), lane),
      statistics_(in_format(how, WireFormat::full), lane),
      near_(how.deadline, lane),
      residuals_(1 + cargo_.in_place_of_slots.size()) {
  for (std::size_t i = 0; i < cargo_.in_place_of_slots.size(); ++i) {
    const Travelling& slot = cargo_.in_place_of_slots[i];
    if (slot.sent.defined() && is_coarse(slot) && slots_.carries_errors())
      residuals_[i + 1] = residuals_of(slot);
  }
}

Exchange ReplicaExchange::run(Endpoint& endpoint, const Group& group, std::int64_t number,
                              std::span<const double> weights) {
  Exchange total = model(endpoint, group, number, {.range = replica_.everything()}, weights);
  append(total, statistics(endpoint, group, number, weights));
  return total;
}

Exchange ReplicaExchange::model(Endpoint& endpoint, const Group& group, std::int64_t number,
                                const Bucket& bucket, std::span<const double> weights) {
  std::size_t index = static_cast<std::size_t>(bucket.index) * (1 + replica_.slots().size());
  Terms terms{group, sequence(number, index), weights};
  Exchange total = pairs_are_near_
                       ? average_near(endpoint, cargo_.in_place_of_parameters, bucket, terms)
                       : average(endpoint, parameters_, cargo_.in_place_of_parameters, bucket.range,
                                 terms, &residuals_[0]);
  if (cargo_.slots == SlotPolicy::average)
    for (std::size_t i = 0; i < cargo_.in_place_of_slots.size(); ++i) {
      terms.sequence = sequence(number, ++index);
      append(total, average(endpoint, slots_, cargo_.in_place_of_slots[i], bucket.range, terms,
                            &residuals_[i + 1]));
    }
  return total;
}

Exchange ReplicaExchange::statistics(Endpoint& endpoint, const Group& group, std::int64_t number,
                                     std::span<const double> weights) {
  if (cargo_.statistics != StatisticsPolicy::average) {
    const Time now = endpoint.now();
    return {.begin = now, .first_bytes = now, .end = now};
  }
  const std::size_t last = replica_.buckets().size() * (1 + replica_.slots().size());
  const Travelling& what = cargo_.in_place_of_statistics;
  return average(endpoint, statistics_, what, {0, what.values.numel()},
                 {group, sequence(number, last), weights});
}

Exchange ReplicaExchange::average(Endpoint& endpoint, Averager& averager, const Travelling& what,
                                  Range range, const Terms& terms, at::Tensor* residuals) {
  const at::Tensor values = part(what.values, range);
  at::Tensor carried;
  const bool wait = (cargo_.errors == Cargo::Errors::wait && terms.group.size() > 2) ||
                    (what.sent.defined() && is_coarse(what));
  if (residuals != nullptr && averager.carries_errors() && wait) {
    if (!residuals->defined()) *residuals = residuals_of(what);
    carried = part(*residuals, range);
  }
  if (!what.sent.defined())
    return carried.defined()
               ? averager.average_with_residuals(endpoint, terms.group, values, terms.sequence,
                                                 carried, terms.weights)
               : averager.average(endpoint, terms.group, values, terms.sequence, terms.weights);
  check(terms.weights.empty(), "late values weigh all members alike");
  try {
    return averager.form_mean(endpoint, terms.group, part(what.sent, range), terms.sequence, values,
                              carried);
  } catch (...) {
    // In memory of its own: peers may still be reading where it was.
    what.values.set_(what.sent.to(what.values.scalar_type(), false, true));
    throw;
  }
}

Exchange ReplicaExchange::average_near(Endpoint& endpoint, const Travelling& what,
                                       const Bucket& bucket, const Terms& terms) {
  const at::Tensor values = part(what.values, bucket.range);
  if (what.sent.defined()) values.copy_(part(what.sent, bucket.range));
  return near_.average(endpoint, terms.group, values, terms.sequence, bucket.index, terms.weights);
}

std::map<std::string, at::Tensor> ReplicaExchange::tensors() const {
  std::map<std::string, at::Tensor> tensors = near_.tensors();
  for (std::size_t i = 0; i < residuals_.size(); ++i)
    if (residuals_[i].defined()) tensors[residuals_name(i)] = residuals_[i];
  return tensors;
}

void ReplicaExchange::load(const std::map<std::string, at::Tensor>& tensors) {
  near_.load(tensors);
  for (std::size_t i = 0; i < residuals_.size(); ++i) {
    const auto saved = tensors.find(residuals_name(i));
    if (saved != tensors.end()) residuals_[i] = saved->second.clone();
  }
}

Sequence ReplicaExchange::sequence(std::int64_t number, std::size_t index) const {
  const std::size_t averages = replica_.buckets().size() * (1 + replica_.slots().size()) + 1;
  return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) * averages + index)};
}

}  // namespace huddle
