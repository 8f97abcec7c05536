// A strategy timed on a simulated local network: 10 Gb/s, 0.1 ms, 35 ms of computation a step.

#pragma once

#include <exception>
#include <string>

#include "huddle/cluster/cluster.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"

namespace huddle {

inline Cluster local_network(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.topology.latency_in_rack = 1e-4;
  cluster.compute_per_step = 0.035;
  return cluster;
}

// How much virtual time passes. One simulation per process.
inline Time simulate(const Cluster& cluster, double model_bytes, const std::string& strategy,
                     int steps) {
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result =
      time_strategy(*launcher, model_bytes,
                    {.strategy = strategy,
                     .workers = cluster.workers,
                     .steps = steps,
                     .compute = {cluster.compute_per_step, cluster.backward_share}},
                    [](const StepRecord&) {});
  if (result.error) std::rethrow_exception(result.error);
  return result.summary.seconds;
}

}  // namespace huddle
