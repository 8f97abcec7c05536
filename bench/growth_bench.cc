// How the work of an average grows with the number of workers.  Run: build/growth_bench [--tiny]
//
// - One step of `bsp` as one ring of 1 MB on the sim engine, 256 and 512 workers. Twice the workers
//   send four times the messages. Must hold: at most 4.5 times the processor time, where the second
//   cache of the processor holds what 512 workers touch in turn, some 2 MB (docs/results.md).
// - 4,096 simulated workers under `sesgd`, whose compute time varies and does not. Must hold: at
//   most 2 times the processor time.
// - 256 workers on threads average in one group. Must hold: the order of its sums is found once.
// - 256 workers train on threads. Must hold: less than 300 MB beyond their models.
//
// Every measurement runs in a process of its own. Those of time are repeated in turns and the least
// counts: whatever else the machine does only adds. They are checked at full size only.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "bench/counting_endpoint.h"
#include "bench/measure_alone.h"
#include "bench/must_hold.h"
#include "huddle/collective/average.h"
#include "huddle/report/format.h"
#include "huddle/train/problem.h"
#include "huddle/train/timing.h"
#include "huddle/transport/simgrid/launcher.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

struct Simulation {
  std::string strategy;
  double model_bytes = 1e6;
  int workers = 1;
  int steps = 1;
  double jitter = 0;
};

// How much virtual time passes.
Time simulate(const Simulation& simulation) {
  Cluster cluster;
  cluster.workers = simulation.workers;
  cluster.nic_bytes_per_second = 1.25e9;
  cluster.latency_in_rack = 1e-4;
  cluster.compute_per_step = 0.035;
  cluster.jitter = simulation.jitter;
  const auto launcher = make_sim_launcher({.cluster = cluster});
  const TrainResult result =
      time_strategy(*launcher, simulation.model_bytes,
                    {.strategy = simulation.strategy,
                     .workers = simulation.workers,
                     .steps = simulation.steps,
                     .compute = {cluster.compute_per_step, cluster.backward_share}},
                    [](const StepRecord&) {});
  if (result.error) std::rethrow_exception(result.error);
  return result.summary.seconds;
}

// The processor time of the second simulation in that of the first.
double compare(const char* what, const Simulation& first, const Simulation& second, int rounds) {
  Seconds of_first = kForever;
  Seconds of_second = kForever;
  for (int round = 0; round < rounds; ++round) {
    const auto least = [](Seconds& so_far, const Simulation& simulation) {
      const auto alone = measure_alone([&] { return simulate(simulation); });
      so_far = std::min(so_far, alone.processor_seconds);
    };
    least(of_first, first);
    least(of_second, second);
  }
  const double ratio = of_second / of_first;
  fmt::print("{}: {:.2f} s and {:.2f} s of the processor, ratio {:.2f}\n", what, of_first,
             of_second, ratio);
  return ratio;
}

// How often workers who average in one group find the order of its sums.
double traces_of_one_group(int workers) {
  std::atomic<int> made{0};
  ThreadsOptions options;
  options.cluster.workers = workers;
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    CountingEndpoint counting(endpoint, made);
    Averager averager({.algorithm = Algorithm::ring});
    const at::Tensor tensor = at::full({1000}, endpoint.self().value, at::kDouble);
    averager.average(counting, Group::everyone(workers), tensor, Sequence{0});
    check(tensor.eq((workers - 1) / 2.0).all().item<bool>(), "the average is wrong");
  });
  return made.load();
}

// The peak of memory beyond what the process had and what the models themselves take: each worker's
// parameters and gradients.
double bytes_beyond_models(int workers) {
  const ProblemOptions what{.data = "quadratic:dimension=10000", .workers = workers};
  const double models = [&] { return 2 * workers * parameter_bytes(*load_problem(what)); }();
  const auto alone = measure_alone([&] {
    const auto problem = load_problem(what);
    ThreadsOptions options;
    options.cluster.workers = workers;
    const TrainResult result =
        train(*make_threads_launcher(options), *problem,
              {.strategy = "bsp:algorithm=ring", .workers = workers, .steps = 3},
              [](const StepRecord&) {});
    if (result.error) std::rethrow_exception(result.error);
    return 0;
  });
  return alone.peak_bytes - alone.bytes_at_start - models;
}

int bench(BenchSize size) {
  const bool tiny = size == BenchSize::tiny;
  const int rounds = tiny ? 1 : 3;
  fmt::print("{}\n", machine_description());
  MustHold must_hold(size);

  Simulation ring{.strategy = "bsp:overlap=none,buckets=1,algorithm=ring",
                  .workers = tiny ? 16 : 256};
  Simulation twice = ring;
  twice.workers *= 2;
  const double growth =
      compare(fmt::format("ring of {} and {} workers", ring.workers, twice.workers).c_str(), ring,
              twice, rounds);
  const bool fits_the_cache = sysconf(_SC_LEVEL2_CACHE_SIZE) >= 2 << 20;
  must_hold.at_full_size(
      growth <= 4.5 || !fits_the_cache,
      fmt::format("twice the workers in a ring take at most 4.5 times the time{}",
                  fits_the_cache ? "" : " (not judged: the second cache is too small)")
          .c_str());

  const Simulation steady{.strategy = "sesgd", .workers = tiny ? 64 : 4096, .steps = 5};
  Simulation varied = steady;
  varied.jitter = 0.1;
  const double jittered =
      compare(fmt::format("sesgd, {} workers, without and with jitter", steady.workers).c_str(),
              steady, varied, rounds);
  must_hold.at_full_size(jittered <= 2, "jitter takes at most 2 times the time");

  const int threads = tiny ? 16 : 256;
  const double traces = measure_alone([&] { return traces_of_one_group(threads); }).value;
  fmt::print(
      "{} workers on threads in one group: the order of its sums is found {} times, ratio {:.2f}\n",
      threads, traces, traces);
  must_hold.always(traces == 1, "a group finds the order of its sums once");

  const double bytes = bytes_beyond_models(threads);
  fmt::print("{} workers on threads: {} beyond their models, ratio to 300 MB {:.2f}\n", threads,
             format_bytes(bytes), bytes / 300e6);
  must_hold.at_full_size(bytes < 300e6, "256 workers take less than 300 MB beyond their models");
  return must_hold.exit_status();
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) { return huddle::bench(huddle::bench_size(argc, argv)); }
