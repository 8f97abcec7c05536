#include "huddle/strategy/p_reduce/sync_graph.h"

#include <algorithm>
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
  components_.reset();
}

void SyncGraph::leave(WorkerId worker) {
  const auto place = static_cast<std::size_t>(worker.value);
  check(place < is_vertex_.size() && is_vertex_[place], "the worker is not in the sync graph");
  is_vertex_[place] = false;
  --vertices_;
  for (std::vector<WorkerId>& group : groups_) std::erase(group, worker);
  components_.reset();
}

void SyncGraph::add(std::vector<WorkerId> group) {
  groups_.push_back(std::move(group));
  components_.reset();
}

void SyncGraph::keep(int groups) {
  check(groups >= 0, "a negative number of groups to keep");
  while (groups_.size() > static_cast<std::size_t>(groups)) {
    groups_.pop_front();
    ++forgotten_;
    components_.reset();
  }
}

void SyncGraph::withdraw(std::int64_t group, WorkerId member) {
  if (group < forgotten_) return;
  const auto place = static_cast<std::size_t>(group - forgotten_);
  check(place < groups_.size(), "a group that was never added to the sync graph");
  std::erase(groups_[place], member);
  components_.reset();
}

int SyncGraph::components() const {
  return refreshed().count() - (static_cast<int>(is_vertex_.size()) - vertices_);
}

int SyncGraph::component_of(WorkerId worker) const { return refreshed().root(worker.value); }

bool SyncGraph::connected_by(std::span<const WorkerId> group) const {
  std::vector<int> joined;
  for (const WorkerId member : group) joined.push_back(component_of(member));
  std::sort(joined.begin(), joined.end());
  const auto distinct = std::unique(joined.begin(), joined.end()) - joined.begin();
  return components() <= std::max<std::ptrdiff_t>(1, distinct);
}

Components& SyncGraph::refreshed() const {
  if (components_) return *components_;
  components_.emplace(static_cast<int>(is_vertex_.size()));
  for (auto group = groups_.rbegin(); group != groups_.rend() && components() > 1; ++group)
    for (const WorkerId member : *group) components_->join(group->front().value, member.value);
  return *components_;
}

}  // namespace huddle
