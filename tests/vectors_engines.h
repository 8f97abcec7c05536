// The engines of this build, as the vector runner repeats a case on them.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/transport/launcher.h"

namespace huddle {

using MakeEngine = std::function<std::unique_ptr<Launcher>(const Cluster&)>;

// Runs a case on an engine. Worker 0 judges: what differs there, and nothing if the case passed.
using Judge = std::function<std::string(const MakeEngine&)>;

struct VectorEngine {
  std::string name;

  // What `judge` says of a case with so many workers, by whatever processes the engine needs. In a
  // process that has no part in it, or is not worker 0's, nothing.
  std::function<std::string(int workers, const Judge& judge)> try_out;
};

// Those whose processes this one starts itself, and those that need a process without threads
// first.
std::vector<VectorEngine> own_engines();

// Over MPI, whose `mpirun` has started all processes; null where this build has none. Starts MPI.
struct MpiEngine {
  VectorEngine engine;
  bool is_worker_0 = true;
};
std::unique_ptr<MpiEngine> mpi_engine();

// Of the engines of Huddle those that this build lacks.
std::vector<std::string> engines_left_out();

}  // namespace huddle
