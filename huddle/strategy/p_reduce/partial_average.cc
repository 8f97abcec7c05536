#include "huddle/strategy/p_reduce/partial_average.h"

#include <algorithm>
#include <functional>
#include <span>

#include "huddle/base/error.h"
#include "huddle/replica/averages_in_flight.h"

namespace huddle {

Exchange PartialAverage::run(const Assignment& given) {
  // Equal weights are the plain mean, which is rounded once less, and equal to a global average's
  // bit for bit.
  const bool all_alike = std::adjacent_find(given.weights.begin(), given.weights.end(),
                                            std::not_equal_to<>()) == given.weights.end();
  const std::span<const double> weights =
      all_alike ? std::span<const double>() : std::span<const double>(given.weights);
  Exchange total = exchange_.model(endpoint_, given.group, given.id.value,
                                   {.range = replica_.everything()}, weights);
  try {
    append(total, exchange_.statistics(endpoint_, given.group, given.id.value, weights));
  } catch (const PeerLost&) {
    total.end = endpoint_.now();
  }
  return total;
}

}  // namespace huddle
