// Which worker a process is, of how many, and where it meets the others: told by options, or by
// whoever has started it through environment variables.
//
//   options        --rank, --workers, --store
//   huddle launch  HUDDLE_RANK, HUDDLE_WORKERS; HUDDLE_STORE
//   torchrun       RANK, WORLD_SIZE; MASTER_ADDR, MASTER_PORT; TORCHELASTIC_RUN_ID
//   Open MPI       OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE; PMIX_NAMESPACE
//   MPICH, Hydra   PMI_RANK, PMI_SIZE
//   Slurm          SLURM_PROCID, SLURM_NTASKS; SLURM_JOB_ID, SLURM_STEP_ID
//
// Upper rows win. HUDDLE_STORE, MASTER_ADDR with MASTER_PORT, and HUDDLE_TOKEN count whoever has
// started the process. Variables that are set to nothing count as not set.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "huddle/base/host_port.h"

namespace huddle {

// The value of an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// What was typed of it.
struct TypedPlace {
  std::optional<int> rank;
  std::optional<int> workers;
  std::string store;  // Empty: nothing.
};

struct ProcessPlace {
  int rank = 0;
  int workers = 0;
  std::string told_by;  // "huddle launch", "torchrun", "mpirun", "mpiexec", "srun", "--rank".

  std::optional<HostPort> store;  // Nothing only where none is needed.
  // Whether this process is to host it before it connects. Where `huddle launch` or the agent of
  // torchrun has one running, nobody is; else it is worker 0.
  bool hosts_store = false;

  // What the processes of one job have in common, and others do not.
  std::string token;
  // Whether the token is one that strangers cannot guess: it came by HUDDLE_TOKEN. Else it is the
  // job's number, or empty, which keeps jobs apart by accident, but not on purpose: whoever can
  // reach the ports of the job can take part in it.
  bool is_token_secret = false;
};

enum class StoreNeed { needed, not_needed };

// Throws UsageError, naming the variable or option and the way out, where something is missing,
// contradicts something else or is no number.
ProcessPlace process_place(const Environment& environment, const TypedPlace& typed, StoreNeed need);

// Who has started this process as one of several ("srun"); nothing: nobody has.
std::optional<std::string> launcher_of(const Environment& environment);

}  // namespace huddle
