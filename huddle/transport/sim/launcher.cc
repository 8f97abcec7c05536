#include "huddle/transport/sim/launcher.h"

#include <ATen/Parallel.h>

#include <mutex>

#include "huddle/transport/local/crew.h"
#include "huddle/transport/sim/platform.h"
#include "huddle/transport/sim/scheduler.h"

namespace huddle {
namespace {

class SimLauncher final : public Launcher {
 public:
  explicit SimLauncher(const SimOptions& options)
      : platform_(options.cluster, options.link_loads),
        scheduler_(platform_, options.payload_scale),
        hub_(options.cluster, scheduler_) {
    scheduler_.on_interrupt([this] {
      const std::lock_guard lock(mutex_);
      hub_.stop(stop_reason_);
    });
  }

  std::vector<Loss> run(const std::function<void(Endpoint&)>& body) override;
  void stop(const std::string& reason) override;
  std::vector<LinkUse> link_uses() const override { return platform_.link_uses(); }

 private:
  Platform platform_;
  SimScheduler scheduler_;
  Hub hub_;
  bool has_run_ = false;
  std::mutex mutex_;
  std::string stop_reason_;  // Guarded by mutex_.
};

std::vector<Loss> SimLauncher::run(const std::function<void(Endpoint&)>& body) {
  if (has_run_)
    throw UsageError("this cluster has been simulated already: make a new one, in a new process.");
  has_run_ = true;
  at::set_num_threads(1);  // Actors take turns on one thread; more would only disturb others.
  Endings endings;
  int running = platform_.workers();
  for (int worker = 0; worker < platform_.workers(); ++worker)
    simgrid::s4u::Actor::create("worker", platform_.host(WorkerId{worker}), [&, worker] {
      run_worker(hub_, WorkerId{worker}, HubWorker::Memory::apart, body, endings);
      if (--running > 0) return;
      hub_.close();
      scheduler_.end_alarms();
    });
  simgrid::s4u::Actor::create("failure injector", platform_.host(WorkerId{0}),
                              [this] { hub_.inject_timed_deaths(); });
  platform_.run();
  check(running == 0, "the simulation ended before its workers");
  const std::lock_guard lock(mutex_);
  if (!stop_reason_.empty()) throw Interrupted(stop_reason_);
  return endings.conclude();
}

void SimLauncher::stop(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_reason_.empty()) return;
    stop_reason_ = reason;
  }
  scheduler_.interrupt();
}

}  // namespace

std::unique_ptr<Launcher> make_sim_launcher(const SimOptions& options) {
  return std::make_unique<SimLauncher>(options);
}

}  // namespace huddle
