#include "huddle/core/meeting_rates.h"

#include <algorithm>
#include <utility>

#include "huddle/core/error.h"

namespace huddle {

MeetingRates::MeetingRates(int workers)
    : workers_(workers), meetings_(workers, workers), weighted_meetings_(workers, workers) {
  check(workers >= 1, "meeting rates of no workers");
}

void MeetingRates::add(std::span<const WorkerId> group) {
  check(!group.empty(), "an empty group meets nobody");
  for (const WorkerId member : group)
    check(member.value >= 0 && member.value < workers_, "a member of a group is not a worker");
  const double weight = 1.0 / static_cast<double>(group.size());
  for (const WorkerId one : group)
    for (const WorkerId other : group) {
      meetings_(one.value, other.value) += 1;
      weighted_meetings_(one.value, other.value) += weight;
    }
  ++groups_;
  members_ += static_cast<std::int64_t>(group.size());
}

double MeetingRates::mean_size() const {
  return groups_ == 0 ? 0 : static_cast<double>(members_) / static_cast<double>(groups_);
}

double MeetingRates::rate(WorkerId one, WorkerId other) const {
  const double met = meetings_(one.value, other.value);
  return groups_ == 0 ? 0 : met / static_cast<double>(groups_);
}

double MeetingRates::rho() const {
  if (workers_ == 1) return 0;
  if (groups_ == 0) return 1;
  // E[W] - J: the constant vector, which every W keeps, has eigenvalue 0 in it, so that the largest
  // one left is rho. A row of E[W] sums to 1: what the other columns of weighted meetings do not
  // take stays on the diagonal.
  Matrix expected = Matrix::identity(workers_);
  const double share = 1.0 / static_cast<double>(groups_);
  for (int i = 0; i < workers_; ++i)
    for (int j = 0; j < workers_; ++j) {
      if (i != j) {
        expected(i, j) += share * weighted_meetings_(i, j);
        expected(i, i) -= share * weighted_meetings_(i, j);
      }
      expected(i, j) -= 1.0 / workers_;
    }
  return std::clamp(largest_eigenvalue(std::move(expected)), 0.0, 1.0);
}

double MeetingRates::rho_of_random_groups() const {
  if (workers_ == 1) return 0;
  if (groups_ == 0) return 1;
  return (workers_ - mean_size()) / (workers_ - 1.0);
}

}  // namespace huddle
