#include "huddle/strategy/group_log.h"

#include <algorithm>
#include <numeric>

#include "huddle/core/staleness.h"
#include "huddle/core/text.h"

namespace huddle {
namespace {

// Members further behind than this are counted together, so that a report stays short.
constexpr std::int64_t kLargestStaleness = 20;

}  // namespace

GroupLog::GroupLog(int workers) : steps_(static_cast<std::size_t>(workers)), meetings_(workers) {}

void GroupLog::add(const FormedGroup& group) {
  ++sizes_[group.members.size()];
  meetings_.add(group.members);
  const std::int64_t newest = new_iteration(group.iterations);
  for (const std::int64_t iteration : group.iterations) ++staleness_[newest - iteration];
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
  for (const auto& [staleness, members] : staleness_) {
    behind += staleness * members;
    tell(concat("staleness.", std::min(staleness, kLargestStaleness),
                staleness < kLargestStaleness ? "" : "_or_more"),
         members);
  }
  tell("staleness", static_cast<double>(behind) /
                        static_cast<double>(std::max<std::int64_t>(1, counters.members)));
  tell("staleness_max", staleness_.empty() ? 0 : staleness_.rbegin()->first);

  const auto all = std::accumulate(steps_.begin(), steps_.end(), std::int64_t{0});
  for (std::size_t worker = 0; worker < steps_.size(); ++worker)
    tell(concat("share.", worker),
         static_cast<double>(steps_[worker]) / static_cast<double>(std::max<std::int64_t>(1, all)));
  return figures;
}

}  // namespace huddle
