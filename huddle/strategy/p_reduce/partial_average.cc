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
  const auto sequence = static_cast<std::uint32_t>(2 * given.id.value);
  Exchange total =
      averager_.average(endpoint_, given.group, replica_.parameters(), Sequence{sequence}, weights);
  try {
    append(total, averager_.average(endpoint_, given.group, replica_.statistics(),
                                    Sequence{sequence + 1}, weights));
  } catch (const PeerLost&) {
    total.end = endpoint_.now();
  }
  return total;
}

}  // namespace huddle
