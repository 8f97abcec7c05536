// Runs every worker with a log of its own and tells what all of them came to: what training,
// timing and a user's own run share.

#pragma once

#include <exception>
#include <functional>
#include <string>

#include "huddle/train/recorder.h"
#include "huddle/train/trainer.h"

namespace huddle {

// `body` runs once for each worker, with what writes down its steps. What the launcher throws is
// told with the result, whose summary has all that logs, launcher and options know.
TrainResult run_logged(Launcher& launcher, const TrainOptions& options,
                       const StepObserver& observer,
                       const std::function<void(Endpoint&, Recorder&)>& body);

// How a run ended: the status for summary.json, and the message for people.
struct Ending {
  std::string status = "complete";
  std::string message;
};

// `error`: what was told with the result, if anything.
Ending ending_of(const std::exception_ptr& error);

}  // namespace huddle
