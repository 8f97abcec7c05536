// What a hub knows of one worker, and how a worker learns that it must die.

#pragma once

#include <string>

#include "huddle/base/error.h"
#include "huddle/transport/local/operation.h"

namespace huddle {

// Thrown inside a worker that the injector kills. The launcher alone handles it.
class Killed : public Error {
 public:
  using Error::Error;
};

enum class Life { running, finished, lost };

struct WorkerState {
  Life life = Life::running;
  std::string reason;
  Step step{-1};
  int operations_in_step = 0;
  const Party* exclusive_holder = nullptr;
};

}  // namespace huddle
