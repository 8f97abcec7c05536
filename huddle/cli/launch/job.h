// A job: its processes are started together, watched, and all of them gone when this process is.
//
// They end by themselves, or
//   at SIGINT or SIGTERM  all are sent it; whoever is left a good while later is killed
//   at the second one     all are sent it again, and killed soon after
//   for want of purpose   when worker 0 has ended, or anyone was refused (wrong usage), the others
//                         have some time to end; then they are asked to, and soon after killed

#pragma once

#include <vector>

#include "huddle/base/ids.h"
#include "huddle/cli/launch/job_end.h"
#include "huddle/cli/launch/worker_process.h"

namespace huddle {

struct JobOptions {
  Seconds grace = 10;  // What workers have when there is no purpose any more.
  ErrorStream worker_0 = ErrorStream::pipe;
};

// From here on signals that end this process wait for run_job, on all threads begun later.
void hold_signals();

// Runs one worker for each start, to the end of all of them. Their log goes to the error stream.
// REQUIRES: hold_signals() was called, and this is the process's main thread.
JobEnd run_job(const std::vector<WorkerStart>& starts, const JobOptions& options);

}  // namespace huddle
