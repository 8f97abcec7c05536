// How well the groups that really formed mix: the contraction rho of a log of groups, kept up while
// a run goes on.
//
// A group g averages with the projection W, 1/|g| inside g and the identity elsewhere, so over the
// log E[W] = E[W^T W] = I - L, with L the Laplacian of the meetings of every two workers, each
// weighted with 1/|g| and divided by the number of groups. Then rho = 1 - lambda_2(L): the share of
// the most stubborn disagreement that a group leaves, on average. For groups of one size P that is
// 1 - lambda_2(q)/P, q_ij = the share of groups that hold both i and j. rho is 1 exactly if the
// groups leave somebody apart, and (N-P)/(N-1) if they were drawn uniformly.
//
// Cost: P^2 additions for a group, 4/3 N^3 operations for rho.

#pragma once

#include <cstdint>
#include <span>

#include "huddle/core/ids.h"
#include "huddle/core/linear.h"

namespace huddle {

class MeetingRates {
 public:
  // REQUIRES: workers >= 1.
  explicit MeetingRates(int workers);

  // REQUIRES: the members are distinct, and workers; at least one.
  void add(std::span<const WorkerId> group);

  std::int64_t groups() const { return groups_; }

  // 0 before the first group.
  double mean_size() const;

  // The share of groups that hold both; of a worker with itself, the share that hold it. 0 before
  // the first group. REQUIRES: both are workers.
  double rate(WorkerId one, WorkerId other) const;

  // Of all workers. 1 before the first group, and 0 for a single worker.
  double rho() const;

  // What uniformly random groups of these sizes would have: (N - mean size) / (N - 1).
  double rho_of_random_groups() const;

 private:
  int workers_;
  std::int64_t groups_ = 0;
  std::int64_t members_ = 0;
  Matrix meetings_;           // Groups that hold both.
  Matrix weighted_meetings_;  // The same, each group divided by its size.
};

}  // namespace huddle
