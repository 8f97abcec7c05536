#include "huddle/base/group.h"

#include <algorithm>

#include "huddle/base/error.h"

namespace huddle {

Group::Group(std::vector<WorkerId> members) : members_(std::move(members)) {
  std::sort(members_.begin(), members_.end());
  check(std::adjacent_find(members_.begin(), members_.end()) == members_.end(),
        "a worker is in a group twice");
  check(members_.empty() || members_.front().value >= 0, "a group member is negative");
}

Group Group::everyone(int workers) {
  check(workers >= 0, "a negative number of workers");
  std::vector<WorkerId> members;
  for (int worker = 0; worker < workers; ++worker) members.push_back(WorkerId{worker});
  return Group(std::move(members));
}

bool Group::contains(WorkerId worker) const {
  return std::binary_search(members_.begin(), members_.end(), worker);
}

int Group::position_of(WorkerId worker) const {
  // Where it stands in a group of everybody, which may be large.
  const auto at_home = static_cast<std::size_t>(worker.value);
  if (at_home < members_.size() && members_[at_home] == worker) return worker.value;
  const auto found = std::lower_bound(members_.begin(), members_.end(), worker);
  check(found != members_.end() && *found == worker, "the worker is not in the group");
  return static_cast<int>(found - members_.begin());
}

}  // namespace huddle
