#include "huddle/cli/memory.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/report/format.h"
#include "huddle/strategy/registry.h"

namespace huddle {
namespace {

// In bytes, as measured; see the head of memory.h.
constexpr double kLibraries = 25e6;       // What they allocate when they are first used.
constexpr double kTimedWorker = 45e3;     // One of thousands that are timed only.
constexpr double kSimulatedWorker = 1e6;  // One that trains a model of no size, in simulation ...
constexpr double kThreadedWorker = 2e6;   // ... and on a thread, with what its allocator keeps.
constexpr double kRoute = 18;             // Of each two workers in the simulated network.
constexpr double kMember = 1000;          // A member of a group: its plan and what is under way.
constexpr double kModels = 22;            // Sizes of the model that a worker holds while it trains.
constexpr double kPeerOfGossip = 80;      // ad_psgd keeps something for each other worker,
constexpr double kBesideGossip = 25e3;    // and averages beside it.

// Workers whose schedule is made to look at its groups. More of them fit nowhere even if they are
// alone, and their groups would take gigabytes by themselves.
constexpr int kMostScheduled = 1 << 20;

int largest_group(const Schedule& schedule) {
  int largest = 1;
  for (int phase = 0; phase < schedule.turn(); ++phase)
    for (const Group& group : schedule.cycle_phase(phase))
      largest = std::max(largest, group.size());
  return largest;
}

bool has_schedule(std::string_view name) {
  const std::vector<std::string> names = strategies_with_schedule();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void add_strategy(MemoryNeed& need, std::string_view spec, const Cluster& cluster) {
  const Options options = options_of(spec, {.cluster = cluster});
  const std::string name = parse_spec(spec).name;
  if (name == "ad_psgd") {
    need.group = 2;
    need.peer_bytes = kPeerOfGossip;
    need.beside_bytes = kBesideGossip;
  } else if (name == "p_reduce") {
    need.group = static_cast<int>(options.integer("group"));
  } else if (has_schedule(name) && name != "bsp" && options.integer("warmup") == 0) {
    if (cluster.workers > kMostScheduled) {
      need.group = 1;
      return;
    }
    const Schedule schedule = schedule_of(spec, cluster);
    if (schedule.global_every() == 0) need.group = largest_group(schedule);
  }
}

double estimated_bytes(const MemoryNeed& need) {
  const double workers = need.workers;
  const double group = need.group > 0 ? std::min(need.group, need.workers) : workers;
  const bool is_simulated = need.engine == MemoryNeed::Engine::sim;
  const double worker = need.values == MemoryNeed::Values::timed ? kTimedWorker
                        : is_simulated                           ? kSimulatedWorker
                                                                 : kThreadedWorker;
  const double model = (kModels + static_cast<double>(need.models)) * need.model_bytes;
  const double peers = (is_simulated ? kRoute : 0) + need.peer_bytes;
  return kLibraries +
         workers * (worker + need.beside_bytes + model + group * kMember + workers * peers);
}

int most_workers(const MemoryNeed& need, double bytes) {
  const auto fits = [&](int workers) {
    MemoryNeed other = need;
    other.workers = workers;
    return estimated_bytes(other) <= bytes;
  };
  int enough = 0;
  int too_many = need.workers;
  if (fits(too_many)) return too_many;
  while (too_many - enough > 1) {
    const int middle = enough + (too_many - enough) / 2;
    (fits(middle) ? enough : too_many) = middle;
  }
  return enough;
}

void check_memory(const MemoryNeed& need, double free) {
  const int most = most_workers(need, free);
  if (most == need.workers) return;
  const std::string fitting = most > 0
                                  ? concat("at most ", most, " workers fit, as --workers ", most)
                                  : std::string("not even one worker fits");
  throw UsageError(concat(need.workers, " workers on engine ",
                          need.engine == MemoryNeed::Engine::sim ? "sim" : "threads",
                          " would take about ", format_bytes(estimated_bytes(need)),
                          " of memory, but ", format_bytes(free), " are free; ", fitting, "."));
}

}  // namespace huddle
