// What the workers of a run run on. An Engine is a description, from which every run makes an
// engine anew; engines by name, as --engine has them, are what it is made of.

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/api/job.h"
#include "huddle/base/spec.h"
#include "huddle/cluster/cluster.h"
#include "huddle/cluster/link_load.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

struct Engine {
  std::string spec = "threads";  // "threads", "threads:native=off", "sim", "ucx", "mpi".
  Cluster cluster;
  std::optional<ProcessPlace> place = {};  // Of this process, where each worker has its own.
};

// Workers as threads of this process, in real time; with what a cluster file (docs/clusters.md)
// says of speeds, links and faults injected. Throw UsageError, which lists all problems of a file
// with their lines and keys.
Engine threads(int workers);
Engine threads(const std::filesystem::path& cluster_file);

// Workers of a simulated cluster, in virtual time: results and times are equal on every machine. A
// process simulates once (`compare` makes a process for each run). Throws likewise, and where this
// build has no SimGrid.
Engine simulate(const std::filesystem::path& cluster_file);

// One worker in this process, which is one of several: which, and where the others are, the
// environment says (docs/clusters.md): of `huddle launch`, torchrun, mpirun or srun. `engine`:
// "ucx" or "mpi". Throws UsageError where nothing says it.
Engine cluster(std::string_view engine = "ucx");

// The same program alone and under a launcher: `cluster()` where somebody has started this process
// as one of several, else `alone`.
Engine cluster_or(const Engine& alone);

std::vector<SpecInfo> known_engines();

// A variable of this process.
std::optional<std::string> environment_variable(const std::string& name);

// Throws UsageError unless there is such an engine with such keys, and in this build.
void check_engine(std::string_view spec);

// `payload_scale`: bytes on the network for each byte of payload. `link_loads`, where given, is
// told what every link of a simulation carries; other engines have none. `job`: of an engine of
// processes. Throws UsageError on an unknown engine or key and on a cluster that cannot be.
std::unique_ptr<Launcher> make_engine(std::string_view spec, const Cluster& cluster,
                                      const PayloadScale& payload_scale,
                                      const LinkLoadObserver& link_loads = {},
                                      const std::optional<Job>& job = {});

// Whether this build can simulate.
bool has_simulation();

// Whether the engine of this spec runs in virtual time.
bool is_simulated(std::string_view spec);

// What the engine of this spec leaves out of the cluster, in words; empty: nothing.
std::vector<std::string> left_out_by_engine(std::string_view spec, const Cluster& cluster);

}  // namespace huddle
