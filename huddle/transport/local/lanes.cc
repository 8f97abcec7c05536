#include "huddle/transport/local/lanes.h"

#include <mutex>

namespace huddle {

class Lanes::Running final : public HubOperation {
 public:
  Running(Hub& hub, const Party& spawner, Thread& lane, Program body)
      : HubOperation(hub, spawner), program(std::move(body)), lane_(lane) {}

  // Its waits throw, and this returns when it is over: what the program uses can then be let go.
  void cancel() override {
    std::unique_lock lock(hub_.scheduler());
    if (std::erase_if(lane_.waiting, [this](const auto& each) { return each.get() == this; }) > 0)
      return;
    if (!ended_) lane_.party.must_end = true;
    hub_.wake(owner_);
    while (!ended_) hub_.rest(owner_, hub_.now() + 1);
  }
  void abandon() override { cancel(); }
  std::string describe() const override { return "waiting for a program beside the worker"; }
  bool is_program() const override { return true; }

  Program program;

 private:
  Thread& lane_;
};

Lanes::~Lanes() {
  {
    std::unique_lock lock(hub_.scheduler());
    closing_ = true;
    for (auto& [lane, thread] : threads_) thread.closing = thread.party.must_end = true;
    hub_.wake(worker_);
    for (auto& [lane, thread] : threads_)
      while (!thread.thread) hub_.rest(worker_, hub_.now() + 1);  // A lane is being started.
  }
  for (auto& [lane, thread] : threads_) thread.thread->join();
}

Pending Lanes::spawn(const Party& spawner, Lane lane, Program program) {
  check(lane != kMainLane && lane.value < kLanes,
        "a program needs a lane of its own, from 1 to 63");
  std::unique_lock lock(hub_.scheduler());
  if (closing_) throw TransportError("a program was spawned after its worker had ended");
  const auto [entry, is_new] = threads_.try_emplace(lane, worker_);
  Thread& thread = entry->second;
  const auto running = std::make_shared<Running>(hub_, spawner, thread, std::move(program));
  thread.waiting.push_back(running);
  hub_.wake(worker_);
  if (is_new) {
    lock.unlock();
    std::unique_ptr<Scheduler::Thread> started;
    try {
      started = hub_.scheduler().start(worker_, [this, &thread] { work(thread); });
    } catch (...) {
      lock.lock();
      threads_.erase(entry);
      throw;
    }
    lock.lock();
    thread.thread = std::move(started);
    hub_.wake(worker_);
  }
  return Pending(running);
}

void Lanes::work(Thread& lane) {
  const std::unique_ptr<Endpoint> endpoint = make_endpoint_(lane.party);
  std::unique_lock lock(hub_.scheduler());
  while (true) {
    while (lane.waiting.empty() && !lane.closing) hub_.rest(worker_, kForever);
    if (lane.closing) return;
    const std::shared_ptr<Running> running = lane.waiting.front();
    lane.waiting.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      running->program(*endpoint);
    } catch (const Killed& death) {
      error = std::current_exception();
      hub_.end(worker_, Hub::Ending::died,
               death.what());  // A worker dies as a whole, its body included.
    } catch (...) {
      error = std::current_exception();  // Thrown again where the program is waited for.
    }
    running->program =
        nullptr;  // What the program held is let go before anybody learns of its end.
    lock.lock();
    lane.party.must_end = lane.closing;  // It was meant for this program alone.
    hub_.finish_operation(*running, error);
  }
}

}  // namespace huddle
