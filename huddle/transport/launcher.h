// Starts the workers of one run on some engine, and ends them.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/record/record.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// A worker that ended before its body was done.
struct Loss {
  WorkerId worker;
  std::string reason;
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Runs `body` once for each worker of this process and returns when all have ended. If a body
  // throws, every other worker that depends on it ends with PeerLost naming the first cause, and
  // `run` throws that first exception; where it was thrown in another process, one of the same kind
  // and words. Workers that died while all others finished are returned.
  virtual std::vector<Loss> run(const std::function<void(Endpoint&)>& body) = 0;

  // What each link carried in the run that has ended, where the engine knows.
  virtual std::vector<LinkUse> link_uses() const { return {}; }

  // Where the workers of a run are in several processes: whether this one is here, and a way for
  // all to tell the process of worker 0 something, which hears it on a thread of the launcher's,
  // each worker's reports in their order and all of them before `run` returns.
  virtual bool is_here(WorkerId) const { return true; }
  using Heard = std::function<void(WorkerId from, std::string_view report)>;
  virtual void on_report(Heard) {}
  virtual void report(const std::string&) {}

  // Ends the run from outside: every wait and every `compute` throws Interrupted with this reason.
  // Any thread may call it.
  virtual void stop(const std::string& reason) = 0;
};

}  // namespace huddle
