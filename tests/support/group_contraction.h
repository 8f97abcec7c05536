// For tests: how fast single groups, drawn at random while the others are idle, bring workers
// together (see huddle/schedule/contraction.h, which has whole partitions).

#pragma once

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/group.h"
#include "huddle/base/text.h"
#include "huddle/schedule/linear.h"

namespace huddle {

// One uniformly random group of `size`.
struct RandomGroup {
  int workers = 1;
  int size = 1;
};

// (workers - size) / (workers - 1); 0 for one worker.
inline double contraction(const RandomGroup& group) {
  if (group.size < 1 || group.size > group.workers)
    throw UsageError(concat("cannot draw a group of ", group.size, " from ", group.workers, "."));
  return group.workers == 1 ? 0
                            : static_cast<double>(group.workers - group.size) / (group.workers - 1);
}

// One of `groups`, drawn with these probabilities.
struct WeightedGroups {
  int workers = 1;
  std::vector<Group> groups;
  std::vector<double> probabilities;
};

// The second largest eigenvalue of E[W^T W]: the share left of the most stubborn disagreement.
inline double contraction(const WeightedGroups& groups) {
  const double sum = std::accumulate(groups.probabilities.begin(), groups.probabilities.end(), 0.0);
  if (groups.groups.size() != groups.probabilities.size() || std::abs(sum - 1) > 1e-9)
    throw UsageError("weighted groups need one probability each, which make 1.");
  for (const Group& group : groups.groups)
    if (group.size() == 0 || group[group.size() - 1].value >= groups.workers)
      throw UsageError("a group has a member that is no worker.");
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
