#include "tests/vectors_engines.h"

#include <exception>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/in_child.h"
#ifdef HUDDLE_WITH_SIM
#include "huddle/transport/sim/launcher.h"
#endif
#ifdef HUDDLE_WITH_UCX
#include "huddle/transport/process/launcher.h"
#include "huddle/transport/ucx/ucx_wire.h"
#include "tests/support/forked_workers.h"
#endif
#ifdef HUDDLE_WITH_MPI
#include "huddle/transport/mpi/mpi_wire.h"
#include "huddle/transport/process/launcher.h"
#endif

namespace huddle {
namespace {

// What it says, or throws.
[[maybe_unused]] std::string words_of(const Judge& judge, const MakeEngine& make_engine) {
  try {
    return judge(make_engine);
  } catch (const std::exception& error) {
    return error.what();
  }
}

#ifdef HUDDLE_WITH_SIM
std::string simulated(int, const Judge& judge) {
  return alone([&] {
    return judge([](const Cluster& cluster) { return make_sim_launcher({.cluster = cluster}); });
  });
}
#endif

#ifdef HUDDLE_WITH_UCX
// The child becomes worker 0 and forks the others, which go on from here, too.
std::string over_ucx(int workers, const Judge& judge) {
  return alone([&] {
    const ForkedWorkers forked(workers);
    const std::string words = words_of(judge, [&](const Cluster& cluster) {
      return make_process_launcher(
          make_ucx_wire(forked.self(), workers,
                        [&](const std::string& own) { return forked.exchange(own); }),
          {.self = forked.self(), .cluster = cluster, .startup = {60}, .farewell = {60}});
    });
    if (forked.self() != WorkerId{0}) return std::string();
    const std::vector<std::string> complaints = await_forked_workers();
    return words.empty() ? joined(complaints) : words;
  });
}
#endif

#ifdef HUDDLE_WITH_MPI
// All processes come here with every case; those that it has no worker for leave it out.
std::string over_mpi(int workers, const Judge& judge) {
  const MpiPlace place = mpi_place();
  if (place.size < workers)
    return concat("needs ", workers, " processes, and mpirun has started ", place.size);
  std::unique_ptr<Wire> wire = make_mpi_wire(workers);
  if (wire == nullptr) return "";
  const std::string words = words_of(judge, [&](const Cluster& cluster) {
    return make_process_launcher(
        std::move(wire),
        {.self = {place.rank}, .cluster = cluster, .startup = {60}, .farewell = {60}});
  });
  return place.rank == 0 ? words : "";
}
#endif

std::string on_threads(int, const Judge& judge) {
  return judge([](const Cluster& cluster) { return make_threads_launcher({.cluster = cluster}); });
}

}  // namespace

std::vector<VectorEngine> own_engines() {
  return {
#ifdef HUDDLE_WITH_SIM
      {"sim", simulated},
#endif
#ifdef HUDDLE_WITH_UCX
      {"ucx", over_ucx},
#endif
      {"threads", on_threads}};
}

std::unique_ptr<MpiEngine> mpi_engine() {
#ifdef HUDDLE_WITH_MPI
  return std::make_unique<MpiEngine>(MpiEngine{{"mpi", over_mpi}, mpi_place().rank == 0});
#else
  return nullptr;
#endif
}

std::vector<std::string> engines_left_out() {
  std::vector<std::string> missing;
#ifndef HUDDLE_WITH_SIM
  missing.push_back("sim");
#endif
#ifndef HUDDLE_WITH_UCX
  missing.push_back("ucx");
#endif
#ifndef HUDDLE_WITH_MPI
  missing.push_back("mpi");
#endif
  return missing;
}

}  // namespace huddle
