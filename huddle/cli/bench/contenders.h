// What a user would average with instead, and what the wire allows at best: other libraries on the
// same machine, beside the engine that is measured.

#pragma once

#include <string>

#include "huddle/cli/bench/collectives.h"

namespace huddle {

struct OtherLibraries {
  std::string engine;       // Its own library, called barely, takes part.
  std::string gloo_python;  // A Python with PyTorch, whose Gloo takes part; empty: it does not.
};

// MPI_Allreduce where the engine is mpi, bare exchanges over UCX where it is ucx. Says in
// `left_out` what cannot take part here, and why. To be called before the engine begins.
MakeContenders contenders_of(const OtherLibraries& libraries, std::vector<std::string>& left_out);

}  // namespace huddle
