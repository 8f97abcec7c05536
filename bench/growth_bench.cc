// How the work of an average grows with the number of workers.  Run: build/growth_bench [--tiny]
//
// - One step of `bsp` as one ring of 1 MB on the sim engine, 256 and 512 workers. Twice the workers
//   send four times the messages. Must hold: at most 4.5 times the processor time, where the second
//   cache of the processor holds what 512 workers touch in turn, some 2 MB
//   (docs/results/simulator.md).
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
#include "bench/simulate.h"
#include "huddle/collective/average.h"
#include "huddle/report/format.h"
#include "huddle/train/models/problem.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr double kModelBytes = 1e6;

struct Simulation {
  std::string strategy;
  Cluster cluster;
  int steps = 1;
};

// The processor time of the second simulation in that of the first.
double compare(const char* what, const Simulation& first, const Simulation& second, int rounds) {
  Seconds of_first = kForever;
  Seconds of_second = kForever;
  for (int round = 0; round < rounds; ++round) {
    const auto least = [](Seconds& so_far, const Simulation& simulation) {
      const auto alone = measure_alone([&] {
        return simulate(simulation.cluster, kModelBytes, simulation.strategy, simulation.steps);
      });
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
  const double models = 2 * workers * parameter_bytes(*load_problem(what));
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

  const int workers = tiny ? 16 : 256;
  const Simulation ring{.strategy = "bsp:overlap=none,buckets=1,algorithm=ring",
                        .cluster = local_network(workers)};
  Simulation twice = ring;
  twice.cluster.workers *= 2;
  const double growth = compare(
      fmt::format("ring of {} and {} workers", workers, 2 * workers).c_str(), ring, twice, rounds);
  // What 512 workers touch in turns does not fit a smaller L2 cache, and waits for memory.
  const bool fits = sysconf(_SC_LEVEL2_CACHE_SIZE) >= 2 << 20;
  const double bound = fits ? 4.5 : 12;
  must_hold.at_full_size(growth <= bound,
                         fmt::format("twice the workers in a ring take at most {} times the time{}",
                                     bound, fits ? "" : " (4.5 where the L2 cache has 2 MB)"));

  const int many = tiny ? 64 : 4096;
  const Simulation steady{
      .strategy = "sesgd:form=paper", .cluster = local_network(many), .steps = 5};
  Simulation varied = steady;
  varied.cluster.jitter = 0.1;
  const double jittered =
      compare(fmt::format("sesgd, {} workers, without and with jitter", many).c_str(), steady,
              varied, rounds);
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
