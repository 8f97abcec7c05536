// The programs that run beside one worker: one thread of control for each lane, started when the
// lane is first used.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "huddle/transport/local/hub.h"

namespace huddle {

// Owned by its worker's body; its lanes may spawn too.
class Lanes {
 public:
  using Program = std::function<void(Endpoint&)>;
  using MakeEndpoint = std::function<std::unique_ptr<Endpoint>(const Party&)>;

  Lanes(Hub& hub, WorkerId worker, MakeEndpoint make_endpoint)
      : hub_(hub), worker_(worker), make_endpoint_(std::move(make_endpoint)) {}

  // Ends all programs.
  ~Lanes();

  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // `spawner` is who will wait for it.
  Pending spawn(const Party& spawner, Lane lane, Program program);

 private:
  class Running;
  struct Thread {
    explicit Thread(WorkerId worker) : party{worker} {}

    Party party;
    bool closing = false;  // No program starts any more.
    std::deque<std::shared_ptr<Running>> waiting;
    std::unique_ptr<Scheduler::Thread> thread;  // There as soon as it has been started.
  };

  void work(Thread& lane);

  Hub& hub_;
  const WorkerId worker_;
  const MakeEndpoint make_endpoint_;
  // Guarded by the hub's lock:
  std::map<Lane, Thread> threads_;
  bool closing_ = false;
};

}  // namespace huddle
