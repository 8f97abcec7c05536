// How much memory a run will take, estimated before it starts, and how much there is.
//
// A run that does not fit would be killed by the system in its middle, without a word. So it is
// refused, with how many workers do fit. The estimate is a few figures of what was measured
// (tests/sim_memory_test.cc measures them again and holds the estimate against it); it is to err on
// the safe side, by about a factor of 1.5.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "huddle/cluster/cluster.h"

namespace huddle {

// What a run's memory depends on.
struct MemoryNeed {
  enum class Engine { threads, sim };
  enum class Values { trained, timed };  // timed: tensors have no numbers.

  Engine engine = Engine::threads;
  Values values = Values::trained;
  int workers = 1;
  int group = 0;            // Members of the largest group that averages; 0: all workers.
  double peer_bytes = 0;    // That a worker keeps for each other worker, beside its groups.
  double beside_bytes = 0;  // Of the programs beside a worker.
  double model_bytes = 0;   // Of the parameters; 0 where it is not known yet.
  std::int64_t models = 0;  // That each worker keeps for evaluations.
};

// Sets what depends on the strategy: `group` and the two after it. Throws UsageError where the
// strategy cannot run among these workers.
void add_strategy(MemoryNeed& need, std::string_view spec, const Cluster& cluster);

// Bytes that the run adds to the program at its peak.
double estimated_bytes(const MemoryNeed& need);

// The largest number of workers that `bytes` are enough for; 0: none.
int most_workers(const MemoryNeed& need, double bytes);

// What this process may still take: of the machine, and of the control groups (cgroup versions 1
// and 2) that it is in. Infinite where the system does not say. `root`: where /proc and /sys are.
double free_bytes(const std::filesystem::path& root = "/");

// Throws UsageError with the largest number of workers that fits unless the need fits into `free`
// bytes.
void check_memory(const MemoryNeed& need, double free);

}  // namespace huddle
