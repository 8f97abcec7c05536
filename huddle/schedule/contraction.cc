#include "huddle/schedule/contraction.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/schedule/linear.h"

namespace huddle {
namespace {

void validate(const WeightedGroups& groups) {
  if (groups.workers < 1 || groups.groups.size() != groups.probabilities.size())
    throw UsageError("weighted groups need a worker and one probability for each group.");
  for (const double probability : groups.probabilities)
    if (!(probability >= 0)) throw UsageError(concat(probability, " is not a probability."));
  const double sum = std::accumulate(groups.probabilities.begin(), groups.probabilities.end(), 0.0);
  if (std::abs(sum - 1) > 1e-9)
    throw UsageError(concat("the probabilities of groups make ", sum, ", not 1."));
  for (const Group& group : groups.groups)
    if (group.size() == 0 || group[group.size() - 1].value >= groups.workers)
      throw UsageError(concat("a group is empty or has a member that is not one of ",
                              groups.workers, " workers."));
}

}  // namespace

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

double contraction(const RandomGroup& group) {
  if (group.size < 1 || group.size > group.workers)
    throw UsageError(concat("cannot draw a group of ", group.size, " from ", group.workers,
                            " workers; give 1 to ", group.workers, "."));
  return group.workers == 1 ? 0
                            : static_cast<double>(group.workers - group.size) / (group.workers - 1);
}

double contraction(const WeightedGroups& groups) {
  validate(groups);
  // E[W] - J, since W^T W = W. The constant vector has eigenvalue 0 in it.
  Matrix expected = Matrix::identity(groups.workers);
  for (std::size_t i = 0; i < groups.groups.size(); ++i)
    for (const WorkerId a : groups.groups[i]) {
      expected(a.value, a.value) -= groups.probabilities[i];
      for (const WorkerId b : groups.groups[i])
        expected(a.value, b.value) += groups.probabilities[i] / groups.groups[i].size();
    }
  for (int a = 0; a < groups.workers; ++a)
    for (int b = 0; b < groups.workers; ++b) expected(a, b) -= 1.0 / groups.workers;
  return largest_eigenvalue(std::move(expected));
}

}  // namespace huddle
