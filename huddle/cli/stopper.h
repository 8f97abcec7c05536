// Ends a run when somebody asks for it: with a checkpoint where there is to be one and the workers
// come to one step in time, at once where not.

#pragma once

#include <mutex>

#include "huddle/train/step_gate.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// Any thread may call it.
class Stopper {
 public:
  enum class Ending { at_one_step, at_once };

  // A run is under way from here to end().
  void begin(Launcher& launcher, Ending ending);
  void end();

  // Workers pass it at each step, and stop at one step once they are asked to.
  StepGate& gate() { return gate_; }

  // Before a run has begun the process ends here: whatever is being read or made ready, there is
  // nothing yet to be brought to an end.
  void ask();

  // At once, whatever was hoped for.
  void insist();

 private:
  StepGate gate_;
  std::mutex mutex_;  // Guards:
  Launcher* launcher_ = nullptr;
  Ending ending_ = Ending::at_once;
  bool has_begun_ = false;
};

}  // namespace huddle
