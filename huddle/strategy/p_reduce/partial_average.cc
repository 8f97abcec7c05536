#include "huddle/strategy/p_reduce/partial_average.h"

#include <algorithm>
#include <functional>
#include <span>

#include "huddle/base/error.h"
#include "huddle/replica/averages_in_flight.h"

namespace huddle {

Exchange average_partially(Endpoint& endpoint, ReplicaExchange& exchange, const Replica& replica,
                           const Assignment& given) {
  // Equal weights are the plain mean, which is rounded once less, and equal to a global average's
  // bit for bit.
  const bool all_alike = std::adjacent_find(given.weights.begin(), given.weights.end(),
                                            std::not_equal_to<>()) == given.weights.end();
  const std::span<const double> weights =
      all_alike ? std::span<const double>() : std::span<const double>(given.weights);
  Exchange total = exchange.model(endpoint, given.group, given.id.value,
                                  {.range = replica.everything()}, weights);
  try {
    append(total, exchange.statistics(endpoint, given.group, given.id.value, weights));
  } catch (const PeerLost&) {
    total.end = endpoint.now();
  }
  return total;
}

}  // namespace huddle
