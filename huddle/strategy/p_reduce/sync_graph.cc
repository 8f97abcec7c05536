#include "huddle/strategy/p_reduce/sync_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"

namespace huddle {

void SyncGraph::enter(WorkerId worker) {
  check(worker.value >= 0, "a negative worker");
  const auto place = static_cast<std::size_t>(worker.value);
  if (place >= is_vertex_.size()) is_vertex_.resize(place + 1);
  check(!is_vertex_[place], "the worker is in the sync graph already");
  is_vertex_[place] = true;
  ++vertices_;
  stale_ = true;
}

void SyncGraph::leave(WorkerId worker) {
  const auto place = static_cast<std::size_t>(worker.value);
  check(place < is_vertex_.size() && is_vertex_[place], "the worker is not in the sync graph");
  is_vertex_[place] = false;
  --vertices_;
  for (std::vector<WorkerId>& group : groups_) std::erase(group, worker);
  stale_ = true;
}

void SyncGraph::add(std::vector<WorkerId> group) {
  groups_.push_back(std::move(group));
  stale_ = true;
}

void SyncGraph::keep(int groups) {
  check(groups >= 0, "a negative number of groups to keep");
  while (groups_.size() > static_cast<std::size_t>(groups)) {
    groups_.pop_front();
    ++forgotten_;
    stale_ = true;
  }
}

void SyncGraph::withdraw(std::int64_t group, WorkerId member) {
  if (group < forgotten_) return;
  const auto place = static_cast<std::size_t>(group - forgotten_);
  check(place < groups_.size(), "a group that was never added to the sync graph");
  std::erase(groups_[place], member);
  stale_ = true;
}

int SyncGraph::components() const {
  refresh();
  return components_;
}

int SyncGraph::component_of(WorkerId worker) const {
  refresh();
  return root_of(worker.value);
}

bool SyncGraph::connected_by(std::span<const WorkerId> group) const {
  refresh();
  std::vector<int> joined;
  for (const WorkerId member : group) joined.push_back(root_of(member.value));
  std::sort(joined.begin(), joined.end());
  const auto distinct = std::unique(joined.begin(), joined.end()) - joined.begin();
  return components_ <= std::max<std::ptrdiff_t>(1, distinct);
}

int SyncGraph::root_of(int worker) const {
  const auto parent = [&](int of) -> int& { return parent_[static_cast<std::size_t>(of)]; };
  while (parent(worker) != worker) {
    parent(worker) = parent(parent(worker));  // Halves the path for those who ask later.
    worker = parent(worker);
  }
  return worker;
}

void SyncGraph::refresh() const {
  if (!stale_) return;
  parent_.resize(is_vertex_.size());
  std::iota(parent_.begin(), parent_.end(), 0);
  components_ = vertices_;
  for (auto group = groups_.rbegin(); group != groups_.rend() && components_ > 1; ++group)
    for (const WorkerId member : *group) {
      const int first = root_of(group->front().value);
      const int other = root_of(member.value);
      if (first == other) continue;
      parent_[static_cast<std::size_t>(other)] = first;
      --components_;
    }
  stale_ = false;
}

}  // namespace huddle
