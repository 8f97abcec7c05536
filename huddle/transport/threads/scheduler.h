// Threads of control as threads of the process, in real time. Links are injected: a message is seen
// when it would have arrived over the cluster's network.

#pragma once

#include <chrono>
#include <deque>
#include <mutex>

#include "huddle/transport/local/scheduler.h"
#include "huddle/transport/local/steady_condition.h"
#include "huddle/transport/payload_scale.h"
#include "huddle/transport/threads/injected_links.h"

namespace huddle {

class ThreadScheduler final : public Scheduler {
 public:
  ThreadScheduler(const Cluster& cluster, PayloadScale payload_scale);

  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  Time now() const override;
  void rest(WorkerId worker, Time until) override;
  void wake(WorkerId worker) override {
    changed_[static_cast<std::size_t>(worker.value)].notify_all();
  }
  std::unique_ptr<Thread> start(WorkerId worker, std::function<void()> body) override;
  std::optional<Arrival> carry(const Parcel& parcel,
                               std::function<void(const Arrival&)> arrived) override;

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const PayloadScale payload_scale_;
  std::mutex mutex_;
  // Guarded by mutex_. Each worker has one condition variable, and the last is the engine's own.
  std::deque<SteadyCondition> changed_;
  InjectedLinks links_;
};

}  // namespace huddle
