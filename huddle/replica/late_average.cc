#include "huddle/replica/late_average.h"

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {

LateAverage::LateAverage(Endpoint& endpoint, Meter& meter, Replica& replica, const Terms& terms)
    : endpoint_(endpoint),
      replica_(replica),
      terms_(terms),
      values_(late_values(replica, terms.slots)),
      exchange_(replica, terms.how, cargo(), terms.lane),
      in_flight_(endpoint, meter, terms.how.deadline) {
  start();  // Buffers hold a model from the first moment on.
}

std::vector<LateValues> LateAverage::late_values(const Replica& replica, SlotPolicy slots) {
  std::vector<LateValues> values = {LateValues::of(replica.parameters()),
                                    LateValues::of_statistics(replica)};
  if (slots == SlotPolicy::average)
    for (const Slot& slot : replica.slots()) {
      values.push_back(LateValues::of(slot.values));
      if (slot.name == UpdateRule::kSecondMoments)
        values.back().never_negative = {replica.everything()};
    }
  return values;
}

ReplicaExchange::Cargo LateAverage::cargo() const {
  ReplicaExchange::Cargo cargo{.slots = terms_.slots,
                               .slots_wire = terms_.slots_wire,
                               .errors = ReplicaExchange::Cargo::Errors::stay};
  cargo.in_place_of_parameters = {values_[0].average, values_[0].sent};
  cargo.in_place_of_statistics = {values_[1].average, values_[1].sent};
  for (std::size_t i = 2; i < values_.size(); ++i)
    cargo.in_place_of_slots.push_back({values_[i].average, values_[i].sent});
  return cargo;
}

void LateAverage::start() {
  for (const LateValues& each : values_) each.start();
}

void LateAverage::correct() {
  in_flight_.settle(endpoint_.now());
  for (const LateValues& each : values_) each.correct();
  if (terms_.slots == SlotPolicy::reset) replica_.reset_slots();
}

void LateAverage::launch(const Group& group, std::int64_t number) {
  launch([this, group, number](Endpoint& beside) { return exchange_.run(beside, group, number); });
}

void LateAverage::launch(AveragesInFlight::Average exchange) {
  in_flight_.start(terms_.lane, std::move(exchange));
}

std::map<std::string, at::Tensor> LateAverage::tensors() const {
  in_flight_.settle(endpoint_.now());
  std::map<std::string, at::Tensor> tensors;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    tensors[concat("late_average_", i)] = values_[i].average;
    tensors[concat("late_sent_", i)] = values_[i].sent;
  }
  tensors.merge(exchange_.tensors());
  return tensors;
}

void LateAverage::load(const std::map<std::string, at::Tensor>& tensors) {
  for (const auto& [name, own] : this->tensors()) {
    const auto saved = tensors.find(name);
    if (saved == tensors.end() || saved->second.sizes() != own.sizes())
      throw UsageError(concat("the checkpoint does not hold the average that was under way (", name,
                              "): it is of another strategy or model. Begin anew."));
    own.copy_(saved->second);
  }
  exchange_.load(tensors);
}

}  // namespace huddle
