#include "huddle/strategy/p_reduce/group_log.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/strategy/p_reduce/staleness.h"

namespace huddle {
namespace {

// Members further behind than this are counted together, so that a report stays short.
constexpr std::int64_t kLargestStaleness = 20;

}  // namespace

GroupLog::GroupLog(int workers)
    : steps_(static_cast<std::size_t>(workers)),
      meetings_(workers),
      latest_(static_cast<std::size_t>(workers)) {}

void GroupLog::add(const FormedGroup& group) {
  ++sizes_[group.members.size()];
  meetings_.add(group.members);
  const std::int64_t newest = new_iteration(group.iterations);
  members_[group.id] = group.members;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Latest now{.group = group.id, .staleness = newest - group.iterations[i]};
    ++staleness_[now.staleness];
    forget_if_past(std::exchange(latest_of(group.members[i]), now).group);
  }
}

void GroupLog::withdraw(GroupId group, WorkerId member) {
  const Latest latest = latest_of(member);
  if (latest.group != group) return;
  latest_of(member) = {};
  const auto stale = staleness_.find(latest.staleness);
  if (--stale->second == 0) staleness_.erase(stale);
  std::vector<WorkerId>& members = members_.at(group);
  meetings_.withdraw(members, member);
  std::erase(members, member);
  forget_if_past(group);
}

void GroupLog::forget_if_past(GroupId group) {
  const auto found = members_.find(group);
  if (found == members_.end()) return;
  const std::vector<WorkerId>& members = found->second;
  if (std::none_of(members.begin(), members.end(),
                   [&](WorkerId member) { return latest_of(member).group == group; }))
    members_.erase(found);
}

void GroupLog::holding(bool holds, Time now) {
  if (holds_) held_ += now - held_since_;
  holds_ = holds;
  held_since_ = now;
}

std::map<std::string, double> GroupLog::figures(const std::string& prefix,
                                                const GroupFormerCounters& counters) const {
  std::map<std::string, double> figures;
  const auto tell = [&](const std::string& name, auto value) {
    figures[prefix + name] += static_cast<double>(value);
  };
  tell("groups", counters.groups);
  tell("aborted", counters.aborted);
  tell("bridges", counters.bridges);
  tell("holds", counters.holds);
  tell("held_s", held_);
  tell("longest_apart", counters.longest_apart);
  tell("group_size", counters.mean_size());
  for (const auto& [size, groups] : sizes_) tell(concat("groups_of.", size), groups);
  tell("rho", meetings_.rho());
  tell("rho_random", meetings_.rho_of_random_groups());

  std::int64_t behind = 0;
  std::int64_t all_members = 0;
  for (const auto& [staleness, members] : staleness_) {
    behind += staleness * members;
    all_members += members;
    tell(concat("staleness.", std::min(staleness, kLargestStaleness),
                staleness < kLargestStaleness ? "" : "_or_more"),
         members);
  }
  tell("staleness",
       static_cast<double>(behind) / static_cast<double>(std::max<std::int64_t>(1, all_members)));
  tell("staleness_max", staleness_.empty() ? 0 : staleness_.rbegin()->first);

  const auto all = std::accumulate(steps_.begin(), steps_.end(), std::int64_t{0});
  for (std::size_t worker = 0; worker < steps_.size(); ++worker)
    tell(concat("share.", worker),
         static_cast<double>(steps_[worker]) / static_cast<double>(std::max<std::int64_t>(1, all)));
  return figures;
}

}  // namespace huddle
