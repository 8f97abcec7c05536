// A cluster as engines see it: its workers, who is near whom, how fast everything is, and what is
// going to go wrong.
//
// One description serves every engine: the simulated one computes with it, the threads one injects
// it in real time. A default cluster is one rack with links that cost nothing and workers that are
// as fast as the machine.
//
// What random events come to is a pure function of seed, worker (or link) and step (or time), so
// equal seeds give equal clusters on every engine.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/cluster/topology.h"

namespace huddle {

// `worker` takes `factor` times as long for steps first..last.
struct Slowdown {
  WorkerId worker;
  double factor = 1;
  Step first;
  Step last = {std::numeric_limits<std::int64_t>::max()};
};

// At every step so many workers, drawn anew, take `factor` times as long.
struct RandomSlowdown {
  int workers = 0;
  double factor = 2;
};

// At every step a worker rests for `seconds` with this probability; pauses are drawn
// independently.
struct Pause {
  double probability = 0;
  Seconds seconds = 0;
  std::optional<WorkerId> worker;  // Nobody named: everybody, each by a draw of its own.
};

// Speed that drifts: the compute time goes up and down by `amplitude`, over and over in so many
// steps, each worker with a start of its own.
struct Wander {
  double amplitude = 0;
  double period_steps = 200;
};

// `worker` dies at `step`: when it begins to compute, or inside an exchange after so many of its
// operations. Or it dies at a moment, whatever it does then.
struct Death {
  WorkerId worker;
  Step step;
  int after_operations = 0;  // 0: before computing.
  std::optional<Time> time;  // Instead of a step.
};

// `worker` stands still from a moment on, for so long, and then goes on.
struct Halt {
  WorkerId worker;
  Time from = 0;
  Seconds seconds = 0;
};

struct Cluster {
  enum class NetworkModel {
    alpha_beta,  // A message takes its latency plus its bytes over the share of bandwidth it gets.
    tcp,         // As SimGrid has calibrated it against TCP; simulation only.
  };
  enum class Jitter { normal, half_normal };

  std::string name;
  int workers = 1;
  Topology topology;

  NetworkModel network_model = NetworkModel::alpha_beta;
  std::vector<Background> background;
  std::vector<Variation> variations;
  std::vector<Cut> cuts;

  Seconds compute_per_step = 0;    // Forward and backward together, of an undisturbed worker.
  double backward_share = 2. / 3;  // Of the compute time.
  double jitter = 0;               // Standard deviation of the compute time, relative.
  Jitter jitter_kind = Jitter::normal;
  std::vector<Slowdown> slowdowns;
  RandomSlowdown random_slowdown;
  std::vector<Pause> pauses;
  Wander wander;
  std::vector<Death> deaths;
  std::vector<Halt> halts;

  double wire_bytes = 0;  // What the model counts for on the network (units.h); 0: what it is.
  std::uint64_t seed = 0;

  // How long `work` seconds of one step's computation take on `worker`: slowed down, jittered and
  // paused. Linear in `work`: a pause is spread over the step's `compute_per_step`, so that the
  // parts of a step add up to one pause, however it is cut. REQUIRES: no problems().
  Seconds compute_time(WorkerId worker, Step step, Seconds work) const;

  // How long computing for `work` seconds takes from `now` on, if the worker is halted in between.
  // Even no work at all waits for the end of a halt that is under way.
  Seconds with_halts(WorkerId worker, Time now, Seconds work) const;

  // Everything that cannot be, one sentence each; empty for a cluster that can be. What an engine
  // merely leaves out is not among them. Where each comes from: huddle/cluster/cluster_problems.h.
  std::vector<std::string> problems() const;

  // Throws UsageError with all problems, one a line, if there are any.
  void validate() const;
};

constexpr const char* name_of(Cluster::NetworkModel model) {
  return model == Cluster::NetworkModel::tcp ? "tcp" : "alpha_beta";
}

}  // namespace huddle
