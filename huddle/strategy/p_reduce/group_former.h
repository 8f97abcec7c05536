// The group former of P-Reduce: decides who averages with whom, by who is ready.
//
// Workers report when they have taken a step, and the first P that wait form a group. First come,
// first served can lock into the same groups for ever (who leaves together returns together), so a
// filter watches the sync graph of the last T groups: a group that would leave it disconnected is
// replaced by a bridge of the head of the queue and the first that wait of other components. Where
// all who wait are of one component, the former holds until somebody else reports. The head of the
// queue is in every group, so nobody starves; the argument, and what is published and what is ours,
// is in docs/strategies/p_reduce.md. A pure state machine: events in, groups out, no clock. A group
// costs a walk over the queue and the T P members of the window, microseconds for 64 workers.

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/strategy/p_reduce/sync_graph.h"

namespace huddle {

struct GroupFormerOptions {
  enum class Filter { off, on };
  int workers = 2;             // N: workers 0..N-1 train from the start.
  int group = 2;               // P.
  Filter filter = Filter::on;  // Needs groups of 2 or more.
  int window = 0;              // T, of the filter; 0: default_window.
  std::int64_t budget = 0;     // Steps of all workers together that end training; 0: no end.
};

// ceil((N-1)/(P-1)): fewer groups cannot connect N workers. REQUIRES: P >= 2 or N <= 1.
int smallest_window(const GroupFormerOptions& options);

// max(N-1, ceil((4(N-1)+1)/P)). The first, so that of any T groups one leaves the window connected;
// the second, so that a worker four times as slow as the others does not slow them down.
int default_window(const GroupFormerOptions& options);

struct GroupId {
  std::int64_t value = 0;  // Counts groups.
  auto operator<=>(const GroupId&) const = default;
};

// One life of a worker. Who joins again after a loss begins the next one, and what the life before
// still sends is told apart.
struct Incarnation {
  WorkerId worker;
  int number = 0;
};

// Members are in the order in which they were picked. For their weights see staleness.h.
struct FormedGroup {
  GroupId id;
  std::vector<WorkerId> members;
  std::vector<std::int64_t> iterations;  // As the members reported them.
  bool bridge = false;                   // The filter changed who is in it.
  bool last = false;                     // Training has ended: its members stop after it.
  std::int64_t steps = 0;                // Of all workers, reported so far.
};

// A worker in the queue.
struct Waiting {
  WorkerId worker;
  std::int64_t iteration = 0;
  std::int64_t ticket = 0;  // Counts reports; the queue is ordered by it.
};

struct GroupFormerCounters {
  std::int64_t steps = 0;  // Reports of ready workers.
  std::int64_t groups = 0;
  std::int64_t members = 0;  // Of all groups together.
  std::int64_t bridges = 0;
  std::int64_t holds = 0;    // Events after which enough workers waited and yet no group formed.
  std::int64_t aborted = 0;  // Groups that a member reported aborted.
  std::int64_t longest_apart = 0;  // Groups in a row that left a full window disconnected, at most.
  double mean_size() const;        // 0 without groups.
};

// Every event gives the groups that it completes, in order. An event that makes no sense (of an
// unknown worker, of one that waits already) is a LogicError and changes nothing. Events of a lost
// or past life are ignored instead, since messages take their time. Copies are independent.
class GroupFormer {
 public:
  using Groups = std::vector<FormedGroup>;

  // Throws UsageError unless 1 <= P <= N and, with the filter on, P >= 2 and the window is at least
  // smallest_window.
  explicit GroupFormer(const GroupFormerOptions& options);

  // The worker has taken a step and waits for a group.
  Groups ready(Incarnation who, std::int64_t iteration);

  // The worker takes no further part: it is gone from the queue and from the window, and P shrinks
  // when fewer than P are left. Who is lost after leaving has just ended.
  Groups lost(Incarnation who);
  Groups left(Incarnation who);

  // A new life of this worker begins; one that has not ended by now is lost. It counts among the N
  // from its first report on, so that nobody waits for that.
  Groups joined(WorkerId worker);

  // The member lost a peer of its latest group and kept its own model. It returns to the queue with
  // its old iteration, at its old place in the order of arrival. Members that do not report this
  // have finished and go on.
  Groups aborted(GroupId group, Incarnation who);

  // Ends training, as spending the budget does: the queue empties into last groups, of which the
  // final one may be smaller, and whoever reports later gets a group of its own.
  Groups end();

  std::span<const Waiting> waiting() const { return queue_; }  // The head first.
  bool holding() const { return holding_; }  // Enough wait, but all are of one component.
  bool ended() const { return ended_; }
  int group_size() const;                  // P, or as many as there are.
  int window() const;                      // T, for as many as there are; 0 with the filter off.
  int incarnation(WorkerId worker) const;  // The latest; -1 for a worker that never joined.
  const GroupFormerCounters& counters() const { return counters_; }

 private:
  enum class State { unknown, newcomer, computing, queued, left, lost };
  struct Worker {
    State state = State::unknown;
    int incarnation = -1;
    GroupId group = {-1};  // The latest, and the worker's place in the queue before it.
    Waiting waited = {};
  };

  Worker& at(WorkerId worker) { return workers_[static_cast<std::size_t>(worker.value)]; }
  Worker* living(Incarnation who, const char* event);
  void activate(WorkerId worker);
  Groups remove(WorkerId worker, State state);
  Groups form();
  bool is_filtering() const;
  FormedGroup emit(const std::vector<std::size_t>& pick);
  void note(const FormedGroup& group);

  GroupFormerOptions options_;
  std::vector<Worker> workers_;
  int active_ = 0;
  std::vector<Waiting> queue_;
  SyncGraph graph_;
  GroupFormerCounters counters_;
  std::int64_t apart_ = 0;  // Groups since a full window was last connected.
  std::set<GroupId> aborted_;
  bool holding_ = false;
  bool ended_ = false;
};

}  // namespace huddle
