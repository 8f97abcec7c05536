#include "huddle/transport/threads/lanes.h"

#include <limits>

namespace huddle {

class Lanes::Running final : public HubOperation {
 public:
  Running(Hub& hub, WorkerId owner, Program body)
      : HubOperation(hub, owner), program(std::move(body)) {}
  std::string describe() const override { return "waiting for a program beside the worker"; }

  Program program;
};

Lanes::~Lanes() {
  hub_.close(worker_);
  for (auto& [lane, thread] : threads_) thread.thread.join();
}

Pending Lanes::spawn(Lane lane, Program program) {
  check(lane != kMainLane && lane.value < kLanes,
        "a program needs a lane of its own, from 1 to 63");
  auto running = std::make_shared<Running>(hub_, worker_, std::move(program));
  const std::lock_guard own(mutex_);
  Thread& thread = threads_[lane];
  {
    const std::lock_guard lock(hub_.mutex());
    thread.waiting.push_back(running);
    hub_.wake(worker_);
  }
  if (!thread.thread.joinable()) thread.thread = std::thread([this, &thread] { work(thread); });
  return Pending(std::move(running));
}

void Lanes::work(Thread& lane) {
  const std::unique_ptr<Endpoint> endpoint = make_endpoint_();
  std::unique_lock lock(hub_.mutex());
  while (true) {
    while (lane.waiting.empty()) {
      if (hub_.is_closing(worker_)) return;
      hub_.rest(lock, worker_, std::numeric_limits<Time>::max());
    }
    const std::shared_ptr<Running> running = lane.waiting.front();
    lane.waiting.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      running->program(*endpoint);
    } catch (...) {
      error = std::current_exception();  // Thrown again where the program is waited for.
    }
    running->program =
        nullptr;  // What the program held is let go before anybody learns of its end.
    lock.lock();
    hub_.finish_operation(*running, error);
  }
}

}  // namespace huddle
