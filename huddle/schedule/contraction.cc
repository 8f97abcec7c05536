#include "huddle/schedule/contraction.h"

#include <limits>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {

double contraction(const RandomPartition& partition) {
  if (partition.groups < 1 || partition.groups > partition.workers)
    throw UsageError(concat("cannot divide ", partition.workers, " workers into ", partition.groups,
                            " groups; give 1 to ", partition.workers, "."));
  return partition.workers == 1 ? 0 : (partition.groups - 1.0) / (partition.workers - 1.0);
}

double deviation_variance(const RandomPartition& partition) {
  const double left = contraction(partition);
  if (left == 1) return std::numeric_limits<double>::infinity();
  return left * (1 - 1.0 / partition.workers) / (1 - left);
}

}  // namespace huddle
