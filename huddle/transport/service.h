// A service: a program beside one worker that answers those who ask (requests.h).
//
// Where it lives is a value. A client waits for its reply or learns that none will come: the
// program failed (its home throws what it threw), or the home is gone (PeerLost that says what that
// means for people).
//
// A service that nobody asks has lost nobody: workers compute, and a step may take longer than any
// deadline. So the program waits for as long as it takes; those who wait for it have deadlines.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "huddle/base/error.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Like Pending::wait and wait_any, but for Timeout: how a service waits.
void wait_patiently(Pending& pending);
std::size_t wait_patiently(std::span<Pending* const> pendings);

// A program and those who depend on it, from its start to its end. Used by one worker's own thread.
class Service {
 public:
  struct Terms {
    WorkerId home;  // Beside whom it runs.
    Lane lane;
    Deadline deadline;                             // For each wait.
    std::function<std::string(WorkerId)> without;  // What the loss of this worker means.
    Group watched = {};  // Whose loss ends the service, beside the home's.
  };

  // The endpoint outlives this.
  Service(Endpoint& endpoint, Terms terms);

  bool is_here() const { return endpoint_.self() == terms_.home; }
  WorkerId home() const { return terms_.home; }

  // Runs `program` beside this worker. What it uses outlives this. REQUIRES: is_here(), once.
  void start(std::function<void(Endpoint&)> program);
  bool has_started() const { return has_started_; }
  bool is_running() const { return program_.under_way(); }

  // Until `pending`, which depends on the service, is ready. Throws as told above.
  void await(Pending& pending);

  // The same and its own `wait`.
  void wait(Pending& pending);

  // Throws what the program failed with, if it has.
  void rethrow();

  // Waits for the program's end, where it is here.
  void join();

 private:
  [[noreturn]] void explain(const PeerLost& lost) const;

  Endpoint& endpoint_;
  const Terms terms_;
  bool has_started_ = false;
  Pending watch_;
  Pending program_;  // Last: it ends before what it uses.
};

}  // namespace huddle
