// Starts the workers of one run on some engine, and ends them.

#pragma once

#include <functional>
#include <string>
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
  // `run` throws that first exception. Workers that died by injection while all others finished are
  // returned.
  virtual std::vector<Loss> run(const std::function<void(Endpoint&)>& body) = 0;

  // What each link carried in the run that has ended, where the engine knows.
  virtual std::vector<LinkUse> link_uses() const { return {}; }

  // Ends the run from outside: every wait and every `compute` throws Interrupted with this reason.
  // Any thread may call it.
  virtual void stop(const std::string& reason) = 0;
};

}  // namespace huddle
