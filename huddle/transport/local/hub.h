// What the workers of one process share: who lives, which messages wait for one another, who meets
// whom. It knows nothing of threads or clocks; its scheduler does.
//
// Everything but the commons is guarded by the scheduler's one lock. Messages are few and large, so
// the lock is never the limit, and one lock means that there is no lock order to get wrong. Data is
// copied and combined outside it. Waking a worker lets each of its threads of control (its body and
// its lanes) look again.

#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/cluster/cluster.h"
#include "huddle/transport/endpoint.h"
#include "huddle/transport/local/channels.h"
#include "huddle/transport/local/commons.h"
#include "huddle/transport/local/operation.h"
#include "huddle/transport/local/outside.h"
#include "huddle/transport/local/rendezvous.h"
#include "huddle/transport/local/reports.h"
#include "huddle/transport/local/scheduler.h"
#include "huddle/transport/local/worker_state.h"

namespace huddle {

class Hub {
 public:
  // `outside`: those of its workers that are in other processes; null: none. Outlives the hub.
  Hub(const Cluster& cluster, Scheduler& scheduler, Outside* outside = nullptr);

  const Cluster& cluster() const { return cluster_; }
  Scheduler& scheduler() { return scheduler_; }
  Commons& commons() { return commons_; }
  Time now() const { return scheduler_.now(); }

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

  using Ending = WorkerEnding;

  // A worker of this process has ended; everybody who depends on it learns. `reason` is what they
  // should read, `error` what it failed of.
  void end(WorkerId worker, Ending ending, const std::string& reason,
           const std::exception_ptr& error = {});

  void stop(const std::string& reason);
  std::string stop_reason();  // Empty: nobody has stopped it.

  // For what is outside. REQUIRE: locked.
  void arrive(const std::shared_ptr<Transfer>& send);  // A message, with its cargo.
  void sent(Transfer& send) { land(send, now()); }
  void fetched(Transfer& send, Transfer& receive, const std::string& trouble);
  void note_end(WorkerId worker, Ending ending, const std::string& reason);
  void note_stop(const std::string& reason);
  bool is_stopped() const { return !stopped_.empty(); }
  bool is_running(WorkerId worker) const { return worker_state(worker).life == Life::running; }

  // Failure injection by time: ends workers at the moments at which the cluster has them die, in a
  // thread of control of its own; returns when no death is left or the hub is closed.
  void inject_timed_deaths();
  void close();  // All workers have ended.

  // Why the worker was lost, the first cause in front; what errors about it should say.
  std::string loss_of(WorkerId worker);
  Step step_of(WorkerId worker);

  // Runs `body` while no other exclusive body of this worker runs.
  void exclusive(const Party& party, const std::function<void()>& body);

  // For the lanes. REQUIRE: locked.
  void rest(WorkerId worker, Time until) { scheduler_.rest(worker, until); }
  void wake(WorkerId worker) { scheduler_.wake(worker); }
  void finish_operation(HubOperation& operation, std::exception_ptr error);

 private:
  friend class HubOperation;
  friend class Transfer;
  friend class Watch;

  // All below REQUIRE the lock.
  WorkerState& worker_state(WorkerId worker) {
    return workers_[static_cast<std::size_t>(worker.value)];
  }
  const WorkerState& worker_state(WorkerId worker) const {
    return workers_[static_cast<std::size_t>(worker.value)];
  }
  void require_running(const Party& party) const;
  void count_operation(WorkerId worker);
  // `lost` is known at once, however long the message would have travelled, or at a later moment.
  void fail(Transfer& transfer, WorkerId lost, Time known_at = 0);
  std::string step_text(WorkerId worker) const;
  // That `who` lost `lost` while it was `doing` something.
  std::exception_ptr lost_error(WorkerId who, WorkerId lost, const std::string& doing) const;
  WorkerId absent_for_good(const Group& group, const Rendezvous& rendezvous) const;
  std::string absent(const Group& group, const Rendezvous& rendezvous) const;
  bool fails_at_once(Transfer& transfer);
  bool goes_outside(const Transfer& transfer) const;
  void tell_of_end(Channels::Key channel, WorkerId ended);
  void tell_watches(WorkerId lost);
  void end_journey(const Transfer& send, Time end);
  void wake_all();
  bool fits(Transfer& send, Transfer& receive);
  void deliver(std::unique_lock<Scheduler>& lock, const std::shared_ptr<Transfer>& send,
               const std::shared_ptr<Transfer>& receive);
  void deliver_cargo(const std::shared_ptr<Transfer>& send,
                     const std::shared_ptr<Transfer>& receive);
  void land(Transfer& send, Transfer& receive, const Scheduler::Arrival& arrival);
  void land(Transfer& one, Time at);
  bool has_ended(const HubOperation& operation) const;
  std::string late(WorkerId worker, const std::string& what, Deadline deadline) const;
  void gather_members(const Party& party, const Group& group, Tag tag,
                      const std::shared_ptr<Rendezvous>& rendezvous, Deadline deadline);

  const Cluster cluster_;
  Scheduler& scheduler_;
  Outside* const outside_;
  Commons commons_;

  // Guarded by the scheduler's lock:
  std::vector<WorkerState> workers_;
  Channels channels_;
  Reports reports_;
  std::map<std::pair<Group, std::uint32_t>, std::shared_ptr<Rendezvous>> rendezvous_;
  Roster<Watch> watches_;
  std::string stopped_;
  bool has_failed_ = false;
  bool is_closed_ = false;
};

}  // namespace huddle
