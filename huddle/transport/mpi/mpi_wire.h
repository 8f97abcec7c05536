// A wire over MPI, of which it needs version 3 and calls by one thread at a time
// (MPI_THREAD_SERIALIZED): what every cluster has.
//
// A message is one of MPI's with our header in front and small data behind it; large data follows
// under a number of its own and is fetched into place. MPI can neither wake a sleeper nor outlive
// a process: whoever waits looks now and then, and the loss of a process ends the job.

#pragma once

#include <memory>
#include <string>

#include "huddle/transport/process/wire.h"

namespace huddle {

// Which worker MPI says this process is. Starts MPI, once in a process; it ends with the process.
// Throws UsageError where the library offers too few threads.
struct MpiPlace {
  int rank = 0;
  int size = 1;
};
MpiPlace mpi_place();

// This process takes no part: when it ends, with what it has to say, so do all others, with this
// status. Else they would wait for it.
void end_job_at_exit(int status);

// Connects the processes whose rank in the job is below `workers`; all others call it too.
// REQUIRES: mpi_place() was called.
std::unique_ptr<Wire> make_mpi_wire(int workers);

}  // namespace huddle
