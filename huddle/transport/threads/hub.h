// What the workers of the threads engine share: who lives, which messages wait for one another, who
// meets whom.
//
// Everything is guarded by one mutex. Messages are few and large, so the mutex is never the limit,
// and one lock means that there is no lock order to get wrong. Data is copied and combined outside
// it. Each worker has one condition variable, which wakes every thread of that worker (its body and
// its lanes) to look again.

#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "huddle/core/cluster.h"
#include "huddle/core/error.h"
#include "huddle/transport/endpoint.h"
#include "huddle/transport/threads/operation.h"
#include "huddle/transport/threads/wire.h"

namespace huddle {

// Thrown inside a worker that the injector kills. The launcher alone handles it.
class Killed : public Error {
 public:
  using Error::Error;
};

class Hub {
 public:
  explicit Hub(const Cluster& cluster);

  const Cluster& cluster() const { return cluster_; }
  Time now() const;

  // A worker says which step it is in. Throws Killed when the injector wants its death there.
  void begin_step(const Party& party, Step step);

  // Sleeps unless the run fails or is stopped first.
  void sleep(const Party& party, Seconds seconds);

  // Starts a transfer: matches it with its other end, copies, or lets it wait.
  void post(const std::shared_ptr<Transfer>& transfer);
  void begin_watch(const std::shared_ptr<Watch>& watch);

  // The members of `group` come together; see GroupReduce.
  Time meet(const Party& party, const Group& group, Tag tag, at::Tensor mine, int blocks,
            const GroupReduce::Combine& combine, Deadline deadline);

  enum class Ending { finished, died, failed };

  // The worker has ended; everybody who depends on it learns. `reason` is what they should read.
  void end(WorkerId worker, Ending ending, const std::string& reason);

  void stop(const std::string& reason);

  // Why the worker was lost, the first cause in front; what errors about it should say.
  std::string loss_of(WorkerId worker);
  Step step_of(WorkerId worker);

  // For the lanes.
  std::mutex& mutex() { return mutex_; }
  void rest(std::unique_lock<std::mutex>& lock, WorkerId worker, Time until);  // REQUIRES: locked.
  void finish_operation(HubOperation& operation, std::exception_ptr error);    // REQUIRES: locked.
  void wake(WorkerId worker) { worker_state(worker).changed.notify_all(); }

 private:
  friend class HubOperation;
  friend class Transfer;
  friend class Watch;

  enum class Life { running, finished, lost };

  struct WorkerState {
    std::condition_variable changed;
    Life life = Life::running;
    std::string reason;
    Step step{-1};
    int operations_in_step = 0;
  };

  // The two queues of one (sender, receiver, tag); at most one of them holds anything.
  struct Channel {
    std::deque<std::shared_ptr<Transfer>> sends;
    std::deque<std::shared_ptr<Transfer>> receives;
    bool empty() const { return sends.empty() && receives.empty(); }
  };

  // One gathering of a group in one another's memory.
  struct Meeting {
    std::vector<at::Tensor> tensors;
    int arrived = 0;
    int blocks = 0;
    Time everybody_at = 0;
    std::exception_ptr error;
    std::atomic<int> next_block{0};
    std::atomic<int> blocks_done{0};
  };

  static std::uint64_t channel_key(const Transfer& transfer);

  // All below REQUIRE the mutex.
  WorkerState& worker_state(WorkerId worker) {
    return workers_[static_cast<std::size_t>(worker.value)];
  }
  const WorkerState& worker_state(WorkerId worker) const {
    return workers_[static_cast<std::size_t>(worker.value)];
  }
  void require_running(const Party& party) const;
  void count_operation(WorkerId worker);
  void fail(Transfer& transfer, WorkerId lost);
  std::string step_text(WorkerId worker) const;
  // That `who` lost `lost` while it was `doing` something.
  std::exception_ptr lost_error(WorkerId who, WorkerId lost, const std::string& doing) const;
  WorkerId absent_for_good(const Group& group, const Meeting& meeting) const;
  std::string absent(const Group& group, const Meeting& meeting) const;
  WorkerId unreported_loss(const Transfer& receive);
  void deliver(std::unique_lock<std::mutex>& lock, Transfer& send, Transfer& receive);
  void withdraw(Transfer& transfer);
  bool has_ended(const HubOperation& operation) const;
  std::string late(WorkerId worker, const std::string& what, Deadline deadline) const;
  void gather_members(std::unique_lock<std::mutex>& lock, const Party& party, const Group& group,
                      Tag tag, const std::shared_ptr<Meeting>& meeting, Deadline deadline);

  const Cluster cluster_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<WorkerState> workers_;
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::map<std::uint64_t, std::set<WorkerId>> losses_reported_;  // By the channel of a receive_any.
  std::map<std::pair<Group, std::uint32_t>, std::shared_ptr<Meeting>> meetings_;
  std::vector<std::shared_ptr<Watch>> watches_;
  Wire wire_;
  std::string stopped_;
  bool has_failed_ = false;
};

}  // namespace huddle
