// Threads of control as SimGrid actors, in virtual time. Exactly one of them runs at any moment, so
// the lock needs nothing but care: no call into SimGrid while it is held, because any such call may
// let another actor run. Whom to wake and what to send is noted, and done on unlocking.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <simgrid/s4u.hpp>
#include <vector>

#include "huddle/transport/hub/scheduler.h"
#include "huddle/transport/simgrid/platform.h"

namespace huddle {

class SimScheduler final : public Scheduler {
 public:
  SimScheduler(Platform& platform, double payload_scale);

  // From any thread: `told` is called, once, by the next actor that takes the lock.
  void interrupt() { is_interrupted_ = true; }
  void on_interrupt(std::function<void()> told) { told_ = std::move(told); }

  void lock() override;
  void unlock() override;
  Time now() const override { return simgrid::s4u::Engine::get_clock(); }
  void rest(WorkerId worker, Time until) override;
  void wake(WorkerId worker) override;
  std::unique_ptr<Thread> start(WorkerId worker, std::function<void()> body) override;
  std::optional<Arrival> carry(const Parcel& parcel,
                               std::function<void(const Arrival&)> arrived) override;
  bool carries_meta() const override { return true; }
  bool is_virtual() const override { return true; }

 private:
  using Bell = simgrid::s4u::SemaphorePtr;

  // An actor that rests.
  struct Sleeper {
    Bell bell;
    bool is_woken = false;
  };

  Platform& platform_;
  const double payload_scale_;
  std::function<void()> told_;
  std::atomic<bool> is_interrupted_{false};
  std::vector<std::vector<Sleeper*>> sleepers_;  // By worker; the last place is the engine's own.
  std::vector<Bell> spare_bells_;
  std::deque<std::function<void()>> to_do_;  // Calls into SimGrid, on unlocking.
};

}  // namespace huddle
