// The estimate of memory (huddle/cli/memory.h) against what runs really take, each in a process of
// its own. To set the figures in memory.cc anew, run the tests one by one
// (--gtest_filter=MemoryOfTraining.OnThreadsIsEstimated): each prints what it measured.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "huddle/cli/memory.h"
#include "huddle/train/models/problem.h"
#include "huddle/train/timing.h"
#include "huddle/transport/sim/launcher.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsMeasurable = false;  // Sanitizers take several times as much.
#else
constexpr bool kIsMeasurable = true;
#endif

// The largest number of bytes that this process has held in memory.
double peak_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
  return 0;
}

struct Bounds {
  double lowest = 0.9;
  double highest = 2;
};

// `before`: the peak before the run.
void expect_estimate(const MemoryNeed& need, double before, const Bounds& bounds) {
  const double growth = peak_bytes() - before;
  const double ratio = estimated_bytes(need) / growth;
  std::printf("%d workers: %.0f MB, estimated %.0f MB, %.2f times as much\n", need.workers,
              growth / 1e6, estimated_bytes(need) / 1e6, ratio);
  if (!kIsMeasurable) GTEST_SKIP() << "memory under a sanitizer says nothing";
  EXPECT_GE(ratio, bounds.lowest);
  EXPECT_LE(ratio, bounds.highest);
}

Cluster lan(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.topology.latency_in_rack = 1e-4;
  cluster.compute_per_step = 0.035;
  return cluster;
}

MemoryNeed need_of(const std::string& strategy, const Cluster& cluster) {
  MemoryNeed need{.engine = MemoryNeed::Engine::sim, .workers = cluster.workers};
  add_strategy(need, strategy, cluster);
  return need;
}

void expect_of_timing(const std::string& strategy, int workers, const Bounds& bounds = {}) {
  const Cluster cluster = lan(workers);
  MemoryNeed need = need_of(strategy, cluster);
  need.values = MemoryNeed::Values::timed;
  const double before = peak_bytes();
  const auto launcher = make_sim_launcher({.cluster = cluster, .link_loads = {}});
  const TrainResult result = time_strategy(
      *launcher, 1e8, {.strategy = strategy, .workers = workers, .steps = 2}, [](const auto&) {});
  if (result.error) std::rethrow_exception(result.error);
  expect_estimate(need, before, bounds);
}

void expect_of_training(MemoryNeed::Engine engine, const std::string& model, int workers) {
  const std::string strategy = "sesgd";
  const Cluster cluster = lan(workers);
  MemoryNeed need = need_of(strategy, cluster);
  need.engine = engine;
  const double before = peak_bytes();
  const auto problem = load_problem({.model = model, .workers = workers, .batch = 4});
  need.model_bytes = parameter_bytes(*problem);
  Cluster threads;  // With links that are free.
  threads.workers = workers;
  const auto launcher = engine == MemoryNeed::Engine::sim
                            ? make_sim_launcher({.cluster = cluster, .link_loads = {}})
                            : make_threads_launcher({.cluster = threads});
  const TrainResult result =
      train(*launcher, *problem, {.strategy = strategy, .workers = workers, .steps = 2},
            [](const auto&) {});
  if (result.error) std::rethrow_exception(result.error);
  // What allocators keep for threads differs from run to run, so that only too little is a fault.
  expect_estimate(need, before, {.highest = 4});
}

TEST(MemoryOfSimulation, OfPairsIsEstimated) { expect_of_timing("sesgd", 1000); }
TEST(MemoryOfSimulation, OfManyPairsIsEstimated) { expect_of_timing("sesgd", 4000); }
TEST(MemoryOfSimulation, OfGroupsIsEstimated) { expect_of_timing("ds_sync", 400); }
TEST(MemoryOfSimulation, OfGossipIsEstimated) { expect_of_timing("ad_psgd", 400); }
// How much less an average of all takes depends on how its plans are shared.
TEST(MemoryOfSimulation, OfEverybodyIsNotUnderestimated) {
  expect_of_timing("bsp", 64, {.lowest = 0.9, .highest = 10});
}

TEST(MemoryOfTraining, OfSmallModelsIsEstimated) {
  expect_of_training(MemoryNeed::Engine::sim, "mlp", 64);
}
TEST(MemoryOfTraining, OfLargeModelsIsEstimated) {
  expect_of_training(MemoryNeed::Engine::sim, "mlp:hidden=512", 16);
}
TEST(MemoryOfTraining, OnThreadsIsEstimated) {
  expect_of_training(MemoryNeed::Engine::threads, "mlp:hidden=512", 16);
}
TEST(MemoryOfTraining, OfManyThreadsIsEstimated) {
  expect_of_training(MemoryNeed::Engine::threads, "mlp", 128);
}

}  // namespace
}  // namespace huddle
