// Runs every worker with a log of its own and tells what all of them came to: what training and
// timing share.

#pragma once

#include <functional>

#include "huddle/train/trainer.h"
#include "huddle/train/worker_log.h"

namespace huddle {

// `body` runs once for each worker. What the launcher throws is told with the result, whose summary
// has all that logs, launcher and options know.
TrainResult run_logged(Launcher& launcher, const TrainOptions& options,
                       const std::function<void(Endpoint&, WorkerLog&)>& body);

}  // namespace huddle
