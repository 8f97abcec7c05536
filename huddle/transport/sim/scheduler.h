// Threads of control as SimGrid actors, in virtual time. Exactly one of them runs at any moment, so
// the lock needs nothing but care: no call into SimGrid while it is held, because any such call may
// let another actor run. Whom to wake is noted, and done when all have come to rest.

#pragma once

#include <atomic>
#include <functional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <vector>

#include "huddle/transport/local/scheduler.h"
#include "huddle/transport/payload_scale.h"
#include "huddle/transport/sim/platform.h"

namespace huddle {

class SimScheduler final : public Scheduler {
 public:
  SimScheduler(Platform& platform, PayloadScale payload_scale);

  // From any thread: `told` is called, once, by the next actor that takes the lock.
  void interrupt() { is_interrupted_ = true; }
  void on_interrupt(std::function<void()> told) { told_ = std::move(told); }

  // All actors have ended. SimGrid would wait for what they no longer wait for.
  void end_alarms();

  void lock() override;
  void unlock() override {}
  Time now() const override { return simgrid::s4u::Engine::get_clock(); }
  void rest(WorkerId worker, Time until) override;
  void wake(WorkerId worker) override;
  std::unique_ptr<Thread> start(WorkerId worker, std::function<void()> body) override;
  std::optional<Arrival> carry(const Parcel& parcel,
                               std::function<void(const Arrival&)> arrived) override;
  bool carries_meta() const override { return true; }
  bool is_virtual() const override { return true; }

 private:
  using Alarm = simgrid::kernel::timer::Timer;

  struct Sleeper {
    simgrid::s4u::Actor* actor = nullptr;  // There as long as it rests.
    Time until = 0;
  };

  // The actors of one worker that rest, and when the first of them wants to be woken, or earlier.
  struct Resting {
    std::vector<Sleeper> sleepers;
    Alarm* alarm = nullptr;  // SimGrid owns it, and deletes it when it has rung.
    Time alarm_at = kForever;
  };
  void set_alarm(Resting& resting, Time until);
  void resume(simgrid::s4u::Actor& actor);

  Platform& platform_;
  const PayloadScale payload_scale_;
  std::function<void()> told_;
  std::atomic<bool> is_interrupted_{false};
  std::vector<Resting> resting_;  // By worker; the last place is the engine's own.
};

}  // namespace huddle
