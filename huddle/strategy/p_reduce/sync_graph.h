// The sync graph of P-Reduce: workers are its vertices, and every two members of one of the last
// groups are joined. As long as it is connected, no workers keep their updates to themselves.
//
// Cost: adding and forgetting touch one group. The first question after a change runs once over the
// groups that are remembered, newest first and only until everybody is connected; further questions
// are nearly free.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "huddle/base/components.h"
#include "huddle/base/ids.h"

namespace huddle {

class SyncGraph {
 public:
  // REQUIRES: it is not a vertex yet.
  void enter(WorkerId worker);

  // Takes the vertex out of the graph and of all groups. REQUIRES: it is a vertex.
  void leave(WorkerId worker);

  // REQUIRES: the members are vertices.
  void add(std::vector<WorkerId> group);

  // Forgets all but the newest `groups` groups. REQUIRES: groups >= 0.
  void keep(int groups);

  // How many groups are remembered.
  int groups() const { return static_cast<int>(groups_.size()); }

  // The member did not take part after all. Groups are numbered from 0 in the order in which they
  // were added; one that is forgotten already is nobody's concern.
  void withdraw(std::int64_t group, WorkerId member);

  int components() const;

  // A number that the vertices of one component share, until the graph changes.
  int component_of(WorkerId worker) const;

  // Whether the graph has one component once these vertices are joined.
  bool connected_by(std::span<const WorkerId> group) const;

 private:
  Components& refreshed() const;

  std::vector<bool> is_vertex_;
  int vertices_ = 0;
  std::deque<std::vector<WorkerId>> groups_;  // The oldest first.
  std::int64_t forgotten_ = 0;

  mutable std::optional<Components> components_;  // Of all numbers; made when somebody asks.
};

}  // namespace huddle
