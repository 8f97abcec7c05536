// What simulating costs.  Run: build/sim_bench [--tiny]
//
// - 1,024 workers x 100 steps of `sesgd`, timing only, beside a bare SimGrid program with the same
//   messages and sleeps, in turns. Must hold: equal virtual times; at most 4 times the bare
//   program's processor time (median of rounds, at full size only). Wanted: 2 times, within 5 s.
// - 256 workers, one step of `bsp` as one global ring. Wanted: within 2 s.
// - 64 workers, 100 and 1,000 steps. Must hold: the peak of memory grows by at most 5 % (at full
//   size only).
//
// Every simulation runs in a process of its own. Seconds are printed but never fail: they belong to
// the machine and to what else it does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "bench/measure_alone.h"
#include "bench/must_hold.h"
#include "bench/simulate.h"
#include "huddle/base/text.h"
#include "huddle/report/format.h"
#include "huddle/schedule/schedule_kinds.h"
#include "tests/support/exchange_masks.h"

namespace huddle {
namespace {

namespace sg = simgrid::s4u;

constexpr double kModelBytes = 102.4e6;
const Cluster kNetwork = local_network(1);  // Its speeds.

struct Extent {
  int workers = 1;
  int steps = 1;
};

Time simulate(const std::string& strategy, const Extent& extent) {
  return simulate(local_network(extent.workers), kModelBytes, strategy, extent.steps);
}

// SimGrid with the network model that the engine calls alpha_beta.
sg::Engine bare_engine() {
  std::vector<std::string> words{"bare",
                                 "--log=root.thresh:error",
                                 "--log=xbt_cfg.thresh:error",
                                 "--cfg=surf/precision:1e-9",
                                 "--cfg=network/model:CM02",
                                 "--cfg=network/TCP-gamma:0",
                                 "--cfg=network/crosstraffic:0"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return sg::Engine(&count, arguments.data());
}

// `sesgd` written straight for SimGrid, without anything that makes it a training system: the
// least that a simulation of these messages can take.
Time simulate_bare(const Extent& extent) {
  const sg::Engine engine = bare_engine();
  sg::NetZone* const zone = sg::create_full_zone("cluster");
  std::vector<sg::Host*> hosts;
  std::vector<const sg::Link*> out;
  std::vector<const sg::Link*> in;
  for (int worker = 0; worker < extent.workers; ++worker) {
    hosts.push_back(zone->create_host(concat("worker ", worker), 1e9));
    out.push_back(zone->create_link(concat("out ", worker), kNetwork.topology.nic_bytes_per_second)
                      ->set_latency(kNetwork.topology.latency_in_rack)
                      ->seal());
    in.push_back(zone->create_link(concat("in ", worker), kNetwork.topology.nic_bytes_per_second)
                     ->set_latency(0)
                     ->seal());
  }
  const std::vector<int> masks = exchange_masks(extent.workers);
  const auto peer = [](int worker, int mask) { return static_cast<std::size_t>(worker ^ mask); };
  for (int worker = 0; worker < extent.workers; ++worker)
    for (const int mask : masks)
      zone->add_route(
          hosts[peer(worker, 0)]->get_netpoint(), hosts[peer(worker, mask)]->get_netpoint(),
          nullptr, nullptr,
          {sg::LinkInRoute(out[peer(worker, 0)]), sg::LinkInRoute(in[peer(worker, mask)])}, false);
  zone->seal();
  const Seconds backward = kNetwork.compute_per_step * Cluster().backward_share;
  for (int worker = 0; worker < extent.workers; ++worker)
    sg::Actor::create("worker", hosts[peer(worker, 0)], [&, worker] {
      for (int step = 0; step < extent.steps; ++step) {
        sg::this_actor::sleep_for(kNetwork.compute_per_step - backward);
        sg::this_actor::sleep_for(backward);
        const int mask = masks[static_cast<std::size_t>(step) % masks.size()];
        sg::Comm::sendto(hosts[peer(worker, 0)], hosts[peer(worker, mask)],
                         static_cast<std::uint64_t>(kModelBytes));
      }
    });
  engine.run();
  return sg::Engine::get_clock();
}

using Simulation = Alone<Time>;

// The one in the middle by processor time.
Simulation median(std::vector<Simulation> runs) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(), [](const auto& one, const auto& other) {
    return one.processor_seconds < other.processor_seconds;
  });
  return *middle;
}

void print_row(const std::string& what, const Simulation& run) {
  fmt::print("| {} | {:.2f} | {:.2f} | {:.4f} |\n", what, run.seconds, run.processor_seconds,
             run.value);
}

void note(const Simulation& run, Seconds wanted, BenchSize size) {
  if (size == BenchSize::full)
    fmt::print("wanted: within {} s: {:.2f} s by the clock, {:.2f} s of the processor\n", wanted,
               run.seconds, run.processor_seconds);
}

void compare_with_bare(BenchSize size, MustHold& must_hold) {
  const bool tiny = size == BenchSize::tiny;
  const Extent pairs = tiny ? Extent{64, 10} : Extent{1024, 100};
  const int rounds = tiny ? 1 : 3;
  std::vector<Simulation> huddle_runs;
  std::vector<Simulation> bare_runs;
  for (int round = 0; round < rounds; ++round) {
    huddle_runs.push_back(measure_alone([&] { return simulate("sesgd:form=paper", pairs); }));
    bare_runs.push_back(measure_alone([&] { return simulate_bare(pairs); }));
  }
  const Simulation huddle = median(huddle_runs);
  const Simulation bare = median(bare_runs);
  const Extent everyone{tiny ? 32 : 256, 1};
  const Simulation ring = measure_alone(
      [&] { return simulate("bsp:overlap=none,buckets=1,algorithm=ring", everyone); });
  fmt::print(
      "{} a model, 10 Gb/s, {} latency, {} compute; median of {} in turns\n\n"
      "| simulation | seconds | processor seconds | virtual seconds |\n| --- | --- | --- | --- |\n",
      format_bytes(kModelBytes), format_seconds(kNetwork.topology.latency_in_rack),
      format_seconds(kNetwork.compute_per_step), rounds);
  const std::string extent = concat(pairs.workers, " workers x ", pairs.steps, " steps");
  print_row("`sesgd:form=paper`, " + extent, huddle);
  print_row("bare SimGrid, the same messages, " + extent, bare);
  print_row(concat("`bsp` as one ring, ", everyone.workers, " workers x 1 step"), ring);
  const double ratio = huddle.processor_seconds / bare.processor_seconds;
  fmt::print("\nratio of processor seconds to bare SimGrid {:.1f}\n", ratio);
  must_hold.always(std::abs(huddle.value - bare.value) <= 1e-6, "virtual times equal to 1e-6 s");
  must_hold.at_full_size(ratio <= 4, "at most 4 times bare SimGrid (wanted: 2)");
  note(huddle, 5, size);
  note(ring, 2, size);
}

void compare_memory(BenchSize size, MustHold& must_hold) {
  const bool tiny = size == BenchSize::tiny;
  const Extent brief{tiny ? 16 : 64, tiny ? 10 : 100};
  const Extent lengthy{brief.workers, 10 * brief.steps};
  fmt::print(
      "\n| memory, {} workers | at start | peak, {} steps | peak, {} steps | growth |\n"
      "| --- | --- | --- | --- | --- |\n",
      brief.workers, format_count(brief.steps), format_count(lengthy.steps));
  double worst = 0;
  for (const char* strategy :
       {"sesgd:form=paper", "overlap_local_sgd:tau=2,algorithm=halving_doubling"}) {
    const Simulation few = measure_alone([&] { return simulate(strategy, brief); });
    const Simulation many = measure_alone([&] { return simulate(strategy, lengthy); });
    const double growth = many.peak_bytes / few.peak_bytes - 1;
    worst = std::max(worst, growth);
    fmt::print("| `{}` | {} | {} | {} | {} |\n", strategy, format_bytes(few.bytes_at_start),
               format_bytes(few.peak_bytes), format_bytes(many.peak_bytes), format_percent(growth));
  }
  fmt::print("\n");
  must_hold.at_full_size(worst <= 0.05, "memory grows by at most 5 % in ten times the steps");
}

int bench(BenchSize size) {
  fmt::print("{}\n", machine_description());
  MustHold must_hold(size);
  compare_with_bare(size, must_hold);
  compare_memory(size, must_hold);
  return must_hold.exit_status();
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) { return huddle::bench(huddle::bench_size(argc, argv)); }
