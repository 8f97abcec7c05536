#include "huddle/strategy/p_reduce/group_former.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// How much slower than the others a worker may be before the default window slows them down.
constexpr int kAbsorbedSlowness = 4;

// Places in the queue, in the order of picking.
using Pick = std::vector<std::size_t>;

int ceiling(int numerator, int denominator) { return (numerator + denominator - 1) / denominator; }

void validate(const GroupFormerOptions& options) {
  const int workers = options.workers;
  const int group = options.group;
  if (group < 1 || group > workers)
    throw UsageError(concat("cannot form groups of ", group, " from ", workers, " workers; give ",
                            workers < 2 ? "2 or more workers." : concat("2 to ", workers, ".")));
  if (options.budget < 0)
    throw UsageError(concat("a budget of ", options.budget,
                            " steps is negative; give 0 for training without an end."));
  if (options.filter == GroupFormerOptions::Filter::off) return;
  if (group < 2)
    throw UsageError(
        "groups of 1 connect nobody; give a size of 2 or more, or switch the filter off.");
  const int smallest = smallest_window(options);
  if (options.window != 0 && options.window < smallest)
    throw UsageError(concat("a window of ", options.window, " groups of ", group,
                            " cannot connect ", workers, " workers: that takes ceil((", workers,
                            "-1)/(", group, "-1)) = ", smallest, " groups; the default is ",
                            default_window(options), "."));
}

Pick front(std::size_t size) {
  Pick pick(size);
  std::iota(pick.begin(), pick.end(), std::size_t{0});
  return pick;
}

std::vector<WorkerId> workers_of(std::span<const Waiting> queue) {
  std::vector<WorkerId> workers;
  for (const Waiting& each : queue) workers.push_back(each.worker);
  return workers;
}

// The head of the queue and the first that waits of each other component, while there is room;
// filled up from the front. Empty if all who wait are of the head's component.
Pick bridge(std::span<const Waiting> queue, std::size_t size, const SyncGraph& graph) {
  Pick pick;
  std::vector<int> components;
  for (std::size_t place = 0; place < queue.size() && pick.size() < size; ++place) {
    const int component = graph.component_of(queue[place].worker);
    if (std::find(components.begin(), components.end(), component) != components.end()) continue;
    components.push_back(component);
    pick.push_back(place);
  }
  if (pick.size() == 1) return {};
  for (std::size_t place = 0; pick.size() < size; ++place)
    if (std::find(pick.begin(), pick.end(), place) == pick.end()) pick.push_back(place);
  return pick;
}

// Who of the queue is next under the filter; empty: hold.
Pick filtered(std::span<const Waiting> queue, std::size_t size, const SyncGraph& graph) {
  if (graph.connected_by(workers_of(queue.first(size)))) return front(size);
  Pick pick = bridge(queue, size, graph);
  const bool same = !pick.empty() && *std::max_element(pick.begin(), pick.end()) < size;
  return same ? front(size) : pick;
}

}  // namespace

int smallest_window(const GroupFormerOptions& options) {
  if (options.workers <= 1) return 1;
  check(options.group >= 2, "groups of one connect nobody, however many they are");
  return ceiling(options.workers - 1, options.group - 1);
}

int default_window(const GroupFormerOptions& options) {
  if (options.workers <= 1) return 1;
  const int others = options.workers - 1;
  return std::max(others, ceiling(others * kAbsorbedSlowness + 1, options.group));
}

double GroupFormerCounters::mean_size() const {
  return groups == 0 ? 0 : static_cast<double>(members) / static_cast<double>(groups);
}

GroupFormer::GroupFormer(const GroupFormerOptions& options) : options_(options) {
  validate(options);
  workers_.resize(static_cast<std::size_t>(options.workers));
  for (int worker = 0; worker < options.workers; ++worker) {
    joined(WorkerId{worker});
    activate(WorkerId{worker});
  }
}

GroupFormer::Groups GroupFormer::ready(Incarnation who, std::int64_t iteration) {
  Worker* const worker = living(who, "is ready");
  if (worker == nullptr) return {};
  if (worker->state == State::queued || worker->state == State::left)
    throw LogicError(concat("worker ", who.worker.value, " is ready in iteration ", iteration,
                            worker->state == State::queued
                                ? ", but waits for a group already."
                                : ", but has left; who comes back must join first."));
  if (worker->state == State::newcomer) activate(who.worker);
  worker->state = State::queued;
  queue_.push_back({.worker = who.worker, .iteration = iteration, .ticket = counters_.steps});
  ++counters_.steps;
  if (options_.budget > 0 && counters_.steps >= options_.budget) ended_ = true;
  return form();
}

GroupFormer::Groups GroupFormer::lost(Incarnation who) {
  const Worker* const worker = living(who, "is lost");
  if (worker == nullptr || worker->state == State::left) return {};
  return remove(who.worker, State::lost);
}

GroupFormer::Groups GroupFormer::left(Incarnation who) {
  const Worker* const worker = living(who, "leaves");
  if (worker == nullptr) return {};
  if (worker->state == State::left)
    throw LogicError(concat("worker ", who.worker.value, " leaves a second time."));
  return remove(who.worker, State::left);
}

GroupFormer::Groups GroupFormer::joined(WorkerId worker) {
  check(worker.value >= 0, "a negative worker joins");
  if (static_cast<std::size_t>(worker.value) >= workers_.size())
    workers_.resize(static_cast<std::size_t>(worker.value) + 1);
  Groups groups;
  if (at(worker).state != State::unknown) groups = lost({worker, at(worker).incarnation});
  at(worker) = {.state = State::newcomer, .incarnation = at(worker).incarnation + 1};
  return groups;
}

GroupFormer::Groups GroupFormer::aborted(GroupId group, Incarnation who) {
  Worker* const worker = living(who, "aborts a group");
  if (worker == nullptr) return {};
  if (worker->state != State::computing || worker->group != group)
    throw LogicError(concat("worker ", who.worker.value, " aborts group ", group.value,
                            ", which is not the one it is in."));
  if (aborted_.insert(group).second) ++counters_.aborted;
  if (options_.filter == GroupFormerOptions::Filter::on) graph_.withdraw(group.value, who.worker);
  worker->state = State::queued;
  const auto later = [&](const Waiting& each) { return each.ticket > worker->waited.ticket; };
  queue_.insert(std::find_if(queue_.begin(), queue_.end(), later), worker->waited);
  return form();
}

GroupFormer::Groups GroupFormer::end() {
  ended_ = true;
  return form();
}

int GroupFormer::group_size() const { return std::min(options_.group, active_); }

int GroupFormer::window() const {
  if (options_.filter == GroupFormerOptions::Filter::off) return 0;
  const GroupFormerOptions now{.workers = active_, .group = group_size()};
  return options_.window == 0 ? default_window(now)
                              : std::max(options_.window, smallest_window(now));
}

int GroupFormer::incarnation(WorkerId worker) const {
  const auto place = static_cast<std::size_t>(worker.value);
  return place < workers_.size() ? workers_[place].incarnation : -1;
}

// Nothing where that life is over.
GroupFormer::Worker* GroupFormer::living(Incarnation who, const char* event) {
  const int latest = incarnation(who.worker);
  if (latest < 0 || who.number < 0 || who.number > latest)
    throw LogicError(concat("worker ", who.worker.value, " (incarnation ", who.number, ") ", event,
                            ", but never joined."));
  const bool is_over = who.number < latest || at(who.worker).state == State::lost;
  return is_over ? nullptr : &at(who.worker);
}

void GroupFormer::activate(WorkerId worker) {
  at(worker).state = State::computing;
  graph_.enter(worker);
  ++active_;
}

GroupFormer::Groups GroupFormer::remove(WorkerId worker, State state) {
  const State before = std::exchange(at(worker).state, state);
  if (before == State::newcomer) return {};
  std::erase_if(queue_, [&](const Waiting& each) { return each.worker == worker; });
  graph_.leave(worker);
  --active_;
  graph_.keep(std::max(0, window() - 1));
  return form();
}

GroupFormer::Groups GroupFormer::form() {
  Groups groups;
  holding_ = false;
  while (!queue_.empty()) {
    const std::size_t waiting = queue_.size();
    const std::size_t wanted = static_cast<std::size_t>(group_size());
    if (waiting < wanted && !ended_) break;
    const std::size_t size = std::min(waiting, wanted);
    const Pick pick = is_filtering() ? filtered(queue_, size, graph_) : front(size);
    holding_ = pick.empty();
    if (holding_) break;
    groups.push_back(emit(pick));
  }
  if (holding_) ++counters_.holds;
  return groups;
}

// Until the window is full, no group is asked to connect it; one that grows with the workers has to
// fill up again. At the end there is no time left for that.
bool GroupFormer::is_filtering() const {
  return options_.filter == GroupFormerOptions::Filter::on && !ended_ &&
         graph_.groups() >= window() - 1;
}

FormedGroup GroupFormer::emit(const Pick& pick) {
  FormedGroup group{.id = {counters_.groups},
                    .members = {},
                    .iterations = {},
                    .bridge = *std::max_element(pick.begin(), pick.end()) >= pick.size(),
                    .last = ended_,
                    .steps = counters_.steps};
  for (const std::size_t place : pick) {
    const Waiting& each = queue_[place];
    group.members.push_back(each.worker);
    group.iterations.push_back(each.iteration);
    Worker& worker = at(each.worker);
    worker.state = State::computing;
    worker.group = group.id;
    worker.waited = each;
  }
  std::erase_if(queue_,
                [&](const Waiting& each) { return at(each.worker).state != State::queued; });
  note(group);
  return group;
}

void GroupFormer::note(const FormedGroup& group) {
  const bool leaves_apart = is_filtering() && !graph_.connected_by(group.members);
  apart_ = leaves_apart ? apart_ + 1 : 0;
  counters_.longest_apart = std::max(counters_.longest_apart, apart_);
  if (options_.filter == GroupFormerOptions::Filter::on) {
    graph_.add(group.members);
    graph_.keep(window() - 1);
  }
  ++counters_.groups;
  counters_.members += static_cast<std::int64_t>(group.members.size());
  counters_.bridges += group.bridge ? 1 : 0;
}

}  // namespace huddle
