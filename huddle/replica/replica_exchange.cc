#include "huddle/replica/replica_exchange.h"

#include <utility>

#include "huddle/replica/averages_in_flight.h"

namespace huddle {
namespace {

Averaging exactly(Averaging how) {
  how.wire = WireFormat::full;
  return how;
}

}  // namespace

ReplicaExchange::ReplicaExchange(const Replica& replica, const Averaging& how, Cargo cargo,
                                 Lane lane)
    : replica_(replica),
      cargo_(std::move(cargo)),
      parameters_(cargo_.in_place_of_parameters.defined() ? cargo_.in_place_of_parameters
                                                          : replica.parameters()),
      statistics_(cargo_.in_place_of_statistics.defined() ? cargo_.in_place_of_statistics
                                                          : replica.statistics()),
      averager_(how, lane),
      exact_(exactly(how), lane) {}

Exchange ReplicaExchange::run(Endpoint& endpoint, const Group& group, std::int64_t number,
                              std::span<const double> weights) {
  Exchange total = model(endpoint, group, number, {.range = replica_.everything()}, weights);
  append(total, statistics(endpoint, group, number, weights));
  return total;
}

Exchange ReplicaExchange::model(Endpoint& endpoint, const Group& group, std::int64_t number,
                                const Bucket& bucket, std::span<const double> weights) {
  std::size_t index = static_cast<std::size_t>(bucket.index) * (1 + replica_.slots().size());
  Exchange total = averager_.average(endpoint, group, part(parameters_, bucket.range),
                                     sequence(number, index), weights);
  if (cargo_.slots == SlotPolicy::average)
    for (std::size_t i = 0; i < replica_.slots().size(); ++i) {
      const at::Tensor& slot = cargo_.in_place_of_slots.empty() ? replica_.slots()[i].values
                                                                : cargo_.in_place_of_slots[i];
      append(total, averager_.average(endpoint, group, part(slot, bucket.range),
                                      sequence(number, ++index), weights));
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
  return exact_.average(endpoint, group, statistics_, sequence(number, last), weights);
}

Sequence ReplicaExchange::sequence(std::int64_t number, std::size_t index) const {
  const std::size_t averages = replica_.buckets().size() * (1 + replica_.slots().size()) + 1;
  return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) * averages + index)};
}

}  // namespace huddle
