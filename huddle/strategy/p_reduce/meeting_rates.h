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
// All of this is about those who are left: a lost worker is in no group, also of those before its
// end, and not among the N. The others of such a group did end equal, as a smaller group does.
//
// Cost: equal groups are kept once, with their number, since a loss changes what they count for.
// rho takes P^2 additions for each of them and 4/3 N^3 operations.

#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "huddle/base/group.h"
#include "huddle/base/ids.h"

namespace huddle {

class MeetingRates {
 public:
  // REQUIRES: workers >= 1.
  explicit MeetingRates(int workers);

  // REQUIRES: the members are distinct, and workers; at least one.
  void add(std::span<const WorkerId> group);

  // The member took no part in a group that was added. One in which nobody took part is no group.
  // REQUIRES: `group` is as it was added, but for members that were withdrawn before.
  void withdraw(std::span<const WorkerId> group, WorkerId member);

  // The worker is gone. REQUIRES: it is a worker.
  void lost(WorkerId worker);

  std::int64_t groups() const;

  // 0 before the first group.
  double mean_size() const;

  // The share of groups that hold both; of a worker with itself, the share that hold it. 0 before
  // the first group. REQUIRES: both are workers.
  double rate(WorkerId one, WorkerId other) const;

  // Of all workers that are left. 1 before the first group, and 0 for a single worker.
  double rho() const;

  // What uniformly random groups of these sizes would have: (N - mean size) / (N - 1).
  double rho_of_random_groups() const;

 private:
  Group without_lost(std::span<const WorkerId> group) const;
  void note(const Group& group, std::int64_t times);

  const int workers_;                    // In the beginning.
  Group left_;                           // All but the lost ones.
  std::map<Group, std::int64_t> times_;  // How often each group met, without the lost ones.
};

}  // namespace huddle
