// Threads of control of one worker in a process of its own, in real time. Who waits sees to the
// wire meanwhile: what comes needs no other thread to be handed over by.
//
// Of several that wait, one sees to the wire and wakes the others. While nobody waits a thread of
// the engine stands in, so that what is under way goes on beside computing and losses are noticed.
// All of them sleep on the wire's descriptor where it has one: machines have fewer cores than
// workers now and then, and whoever spins keeps the one from running that it waits for.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "huddle/transport/local/scheduler.h"
#include "huddle/transport/local/steady_condition.h"
#include "huddle/transport/process/wire.h"

namespace huddle {

class ProcessScheduler final : public Scheduler {
 public:
  // Both outlive it.
  ProcessScheduler(Wire& wire, Wire::Listener& listener);
  ~ProcessScheduler() override;

  // Nobody sees to the wire any more but who waits. Once, before what the listener tells is gone.
  void close();

  // All processes tell the same time once each has been told by how much others are ahead of it.
  // Before the worker's body begins.
  void set_clock(Seconds ahead) { ahead_ = ahead; }

  void lock() override {
    ++wanted_;
    mutex_.lock();
    --wanted_;
  }
  void unlock() override { mutex_.unlock(); }
  Time now() const override;
  void rest(WorkerId worker, Time until) override;
  void wake(WorkerId worker) override;
  void look() override;
  std::unique_ptr<Thread> start(WorkerId worker, std::function<void()> body) override;

  // Of messages to oneself; all others go over the wire.
  std::optional<Arrival> carry(const Parcel& parcel,
                               std::function<void(const Arrival&)> arrived) override;

 private:
  // A descriptor by which somebody who sleeps is woken.
  class Bell;

  // Of a thread that waits where nothing can wake it.
  struct Naps {
    Time since = 0;
    Seconds last = 0;
  };

  void see_to_wire(Time until);
  void sleep(Bell& bell, Time until, Naps& naps);
  void let_others_in();
  void stand_in();

  Wire& wire_;
  Wire::Listener& listener_;
  const Time start_;
  std::atomic<Seconds> ahead_ = 0;
  std::atomic<int> wanted_ = 0;  // Threads that wait for the lock.
  std::mutex mutex_;
  // Guarded by mutex_:
  const std::unique_ptr<Bell> bell_;           // Of the worker's thread that sees to the wire,
  const std::unique_ptr<Bell> stand_in_bell_;  // and of the one that stands in.
  std::uint64_t wakes_ = 0;
  int resting_ = 0;          // Threads that leave the wire to another one.
  bool is_seen_to_ = false;  // By a thread of the worker.
  bool is_closed_ = false;
  SteadyCondition changed_;  // For those who rest,
  SteadyCondition left_;     // and for the one that stands in.
  std::thread thread_;       // Last: it uses all of this.
};

}  // namespace huddle
