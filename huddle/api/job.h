// The processes of one job, found and connected: what stands between a place
// (process_environment.h) and an engine of processes.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "huddle/api/process_environment.h"
#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// What a run of several processes needs to know beyond its cluster.
struct Job {
  ProcessPlace place;
  std::string terms;        // What all processes must have in common; see ProcessOptions.
  Seconds rendezvous = 60;  // How long one waits for the others to come.
  std::function<void(const std::string&)> warn = [](auto&) {};  // Any thread; must not throw.
};

// Whether the engine of this spec has its workers in processes of their own: "ucx", "mpi".
bool is_of_processes(std::string_view engine);

// Throws UsageError, which names the library that was missing, where this build lacks the engine.
void check_built(std::string_view engine);

// Throws UsageError where `huddle launch` has started this process as one of several that would not
// find one another under this engine.
void check_launcher(std::string_view engine, const Environment& environment);

// Which worker this process is: as `typed` and the environment say, under "mpi" as MPI does. Throws
// UsageError where the build lacks the engine, or nothing says it.
ProcessPlace place_of(std::string_view engine, const Environment& environment,
                      const TypedPlace& typed);

// Meets the others and connects to them. Throws UsageError that names who has not come.
std::unique_ptr<Launcher> connect(std::string_view engine, const Cluster& cluster, const Job& job);

// Instead of connecting: the others need not wait for this process, which refuses to run. Returns
// at once where they cannot be told.
void refuse(std::string_view engine, const Job& job, const std::string& why);

}  // namespace huddle
