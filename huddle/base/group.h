// A group: the workers that average together. A schedule entry, not a communicator; making one
// costs nothing.

#pragma once

#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

// A sorted set of distinct workers. A *position* is a member's place in that order.
class Group {
 public:
  Group() = default;

  // Sorts the members. REQUIRES: they are distinct and not negative.
  explicit Group(std::vector<WorkerId> members);

  // Workers 0..workers-1. REQUIRES: workers >= 0.
  static Group everyone(int workers);

  int size() const { return static_cast<int>(members_.size()); }
  WorkerId operator[](int position) const { return members_[static_cast<std::size_t>(position)]; }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

  bool contains(WorkerId worker) const;

  // REQUIRES: contains(worker).
  int position_of(WorkerId worker) const;

  auto operator<=>(const Group&) const = default;

 private:
  std::vector<WorkerId> members_;
};

}  // namespace huddle
