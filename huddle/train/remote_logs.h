// Records of workers in other processes: told step by step to the process of worker 0, which writes
// the files, so that of a worker that is lost everything until then is known.

#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/train/trainer.h"
#include "huddle/train/worker_log.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// In a process without worker 0: what to do with what its worker records. The launcher outlives it.
StepObserver told_by(Launcher& launcher);
std::function<void(WorkerId, const std::vector<Blocked>&)> finish_told_by(Launcher& launcher);
void tell_log(Launcher& launcher, const WorkerLog& log);

// In the process of worker 0: takes what the others tell, for as long as it lives. `logs`, by
// worker, and what the options and the observer refer to outlive the run.
void hear_logs(Launcher& launcher, const TrainOptions& options, const StepObserver& observer,
               std::vector<WorkerLog>& logs);

}  // namespace huddle
