#include "huddle/strategy/p_reduce/meeting_rates.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/schedule/linear.h"

namespace huddle {

MeetingRates::MeetingRates(int workers) : workers_(workers) {
  check(workers >= 1, "meeting rates of no workers");
  left_ = Group::everyone(workers);
}

void MeetingRates::add(std::span<const WorkerId> group) {
  check(!group.empty(), "an empty group meets nobody");
  for (const WorkerId member : group)
    check(member.value >= 0 && member.value < workers_, "a member of a group is not a worker");
  note(without_lost(group), 1);
}

void MeetingRates::withdraw(std::span<const WorkerId> group, WorkerId member) {
  const Group before = without_lost(group);
  if (!before.contains(member)) return;  // It is lost, and in no group any more.
  check(times_.contains(before), "a member withdraws from a group that never met");
  std::vector<WorkerId> others(before.begin(), before.end());
  std::erase(others, member);
  note(before, -1);
  note(Group(std::move(others)), 1);
}

void MeetingRates::lost(WorkerId worker) {
  check(left_.contains(worker), "a worker is lost that is none, or was lost before");
  std::vector<WorkerId> others(left_.begin(), left_.end());
  std::erase(others, worker);
  left_ = Group(std::move(others));
  for (const auto& [group, times] : std::exchange(times_, {}))
    note(without_lost({group.begin(), group.end()}), times);
}

std::int64_t MeetingRates::groups() const {
  std::int64_t groups = 0;
  for (const auto& [group, times] : times_) groups += times;
  return groups;
}

double MeetingRates::mean_size() const {
  std::int64_t members = 0;
  for (const auto& [group, times] : times_) members += times * group.size();
  return times_.empty() ? 0 : static_cast<double>(members) / static_cast<double>(groups());
}

double MeetingRates::rate(WorkerId one, WorkerId other) const {
  std::int64_t met = 0;
  for (const auto& [group, times] : times_)
    if (group.contains(one) && group.contains(other)) met += times;
  return times_.empty() ? 0 : static_cast<double>(met) / static_cast<double>(groups());
}

double MeetingRates::rho() const {
  const int workers = left_.size();
  if (workers <= 1) return 0;
  if (times_.empty()) return 1;
  // E[W] - J: the constant vector, which every W keeps, has eigenvalue 0 in it, so that the largest
  // one left is rho. A row of E[W] sums to 1: what the other columns of weighted meetings do not
  // take stays on the diagonal.
  Matrix expected = Matrix::identity(workers);
  const auto all = static_cast<double>(groups());
  for (const auto& [group, times] : times_) {
    const double weight = static_cast<double>(times) / all / group.size();
    for (const WorkerId one : group)
      for (const WorkerId other : group)
        if (one != other) {
          const int row = left_.position_of(one);
          expected(row, left_.position_of(other)) += weight;
          expected(row, row) -= weight;
        }
  }
  for (int i = 0; i < workers; ++i)
    for (int j = 0; j < workers; ++j) expected(i, j) -= 1.0 / workers;
  return std::clamp(largest_eigenvalue(std::move(expected)), 0.0, 1.0);
}

double MeetingRates::rho_of_random_groups() const {
  const int workers = left_.size();
  if (workers <= 1) return 0;
  if (times_.empty()) return 1;
  return (workers - mean_size()) / (workers - 1.0);
}

Group MeetingRates::without_lost(std::span<const WorkerId> group) const {
  std::vector<WorkerId> members;
  std::copy_if(group.begin(), group.end(), std::back_inserter(members),
               [&](WorkerId member) { return left_.contains(member); });
  return Group(std::move(members));
}

void MeetingRates::note(const Group& group, std::int64_t times) {
  if (group.size() == 0) return;
  const auto noted = times_.try_emplace(group).first;
  noted->second += times;
  if (noted->second == 0) times_.erase(noted);
}

}  // namespace huddle
