#include "huddle/transport/threads/scheduler.h"

#include <algorithm>
#include <thread>

namespace huddle {
namespace {

class StdThread final : public Scheduler::Thread {
 public:
  explicit StdThread(std::function<void()> body) : thread_(std::move(body)) {}
  void join() override { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

ThreadScheduler::ThreadScheduler(const Cluster& cluster, PayloadScale payload_scale)
    : payload_scale_(std::move(payload_scale)),
      changed_(static_cast<std::size_t>(cluster.workers) + 1),
      links_(cluster) {}

Time ThreadScheduler::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ThreadScheduler::rest(WorkerId worker, Time until) {
  changed_[static_cast<std::size_t>(worker.value)].wait_for(mutex_, std::max(0.0, until - now()));
}

std::unique_ptr<Scheduler::Thread> ThreadScheduler::start(WorkerId, std::function<void()> body) {
  return std::make_unique<StdThread>(std::move(body));
}

std::optional<Scheduler::Arrival> ThreadScheduler::carry(const Parcel& parcel,
                                                         std::function<void(const Arrival&)>) {
  Parcel scaled = parcel;
  if (parcel.kind == Kind::payload) scaled.bytes *= payload_scale_;
  return links_.carry(scaled);
}

}  // namespace huddle
