// What a timeline takes of a run.  Run: build/timeline_bench [--tiny]
//
// 8 workers train on digits, on threads and in simulation, with everything that is drawn written to
// a file. The share is the real time that all workers together spend in the recorder, over the real
// time between worker 0's first and last step; with several threads at work this is more than what
// the run is slowed down by. Must hold: at most 3 % (at full size only), and 10 % (wanted: 3) of a
// simulation that trains nothing and does little but what is noted. Drawing comes after the run and
// is no part of it: it is shown beside.
//
// Every run has a process of its own.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure_alone.h"
#include "bench/must_hold.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/cluster/network.h"
#include "huddle/report/format.h"
#include "huddle/report/progress.h"
#include "huddle/report/timeline.h"
#include "huddle/train/timing.h"
#include "huddle/train/trainer.h"
#include "huddle/transport/sim/launcher.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr double kLargest = 0.03;
constexpr double kLargestWithoutTraining = 0.1;

enum class Kind { threads, simulation, timing_only };

struct Drawn {
  Kind kind = Kind::threads;
  std::string strategy;
  int workers = 8;
  std::int64_t steps = 1;
};

struct Cost {
  Seconds run = 0;
  Seconds inside = 0;
  double bytes = 0;  // Of the file.
  Seconds drawing = 0;

  double share() const { return inside / run; }
};

Cluster lan(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.topology.nic_bytes_per_second = 1.25e9;
  cluster.topology.latency_in_rack = 1e-4;
  cluster.compute_per_step = 0.035;
  return cluster;
}

std::unique_ptr<TimelineFile> make_timeline(const std::filesystem::path& path, const Drawn& drawn) {
  TimelineSubject subject{.strategy = drawn.strategy, .workers = drawn.workers};
  const Network network(lan(drawn.workers));
  if (drawn.kind != Kind::threads)
    for (const Network::NamedLink& link : network.links()) subject.links.push_back(link.name);
  return std::make_unique<TimelineFile>(path, subject);
}

Cost draw(const Drawn& drawn) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / concat("huddle_timeline_bench_", ::getpid());
  const auto timeline = make_timeline(path, drawn);
  Seconds first = 0;  // Of worker 0's steps.
  Seconds last = 0;
  const auto observer = [&](const StepRecord& record) {
    timeline->add(record);
    if (record.worker != WorkerId{0}) return;
    last = steady_seconds();
    if (first == 0) first = last;
  };
  TrainOptions options{.strategy = drawn.strategy, .workers = drawn.workers, .steps = drawn.steps};
  options.keeps_blocked = true;
  options.finished = [&](WorkerId worker, const std::vector<Blocked>& blocked) {
    timeline->add_finish(worker, blocked);
  };
  TrainResult result;
  if (drawn.kind == Kind::threads) {
    const auto launcher = make_threads_launcher({.cluster = {.workers = drawn.workers}});
    result = train(*launcher, *load_problem({.workers = drawn.workers}), options, observer);
  } else {
    const Cluster cluster = lan(drawn.workers);
    options.compute = {cluster.compute_per_step, cluster.backward_share};
    const auto launcher =
        make_sim_launcher({.cluster = cluster, .link_loads = [&](std::span<const LinkLoad> loads) {
                             timeline->add(loads);
                           }});
    result = drawn.kind == Kind::timing_only
                 ? time_strategy(*launcher, 102.4e6, options, observer)
                 : train(*launcher, *load_problem({.workers = drawn.workers}), options, observer);
  }
  if (result.error) std::rethrow_exception(result.error);
  const Seconds over = steady_seconds();
  timeline->close();
  const Cost cost{last - first, timeline->seconds_inside(),
                  static_cast<double>(std::filesystem::file_size(path)), steady_seconds() - over};
  std::filesystem::remove(path);
  check(cost.bytes > 100. * static_cast<double>(drawn.workers * drawn.steps), "little was drawn");
  return cost;
}

// The median of some rounds: on a busy machine a worker may lose its processor while it draws.
double print_share(const std::string& what, const Drawn& drawn, int rounds) {
  std::vector<Cost> costs;
  for (int round = 0; round < rounds; ++round)
    costs.push_back(measure_alone([&] { return draw(drawn); }).value);
  const auto middle = costs.begin() + rounds / 2;
  std::nth_element(costs.begin(), middle, costs.end(),
                   [](const Cost& one, const Cost& other) { return one.share() < other.share(); });
  fmt::print("| {} | `{}` | {} | {} | {} | {} | {} | {:.2f} % | {} |\n", what, drawn.strategy,
             drawn.workers, format_count(drawn.steps), format_bytes(middle->bytes),
             format_seconds(middle->run), format_seconds(middle->inside), 100 * middle->share(),
             format_seconds(middle->drawing));
  return middle->share();
}

int bench(BenchSize size) {
  const bool tiny = size == BenchSize::tiny;
  const std::int64_t steps = tiny ? 20 : 1000;
  const int rounds = tiny ? 1 : 5;
  fmt::print(
      "{}, median of {}\n\n"
      "| run | strategy | workers | steps | file | seconds | in the recorder | share | drawing |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      machine_description(), rounds);
  double worst = 0;
  double bare = 0;  // Of those without training.
  for (const char* strategy : {"bsp", "sesgd:form=paper", "overlap_local_sgd", "p_reduce"}) {
    const Drawn threads{Kind::threads, strategy, 8, steps};
    const Drawn simulation{Kind::simulation, strategy, 8, steps / 2};
    worst = std::max(worst, print_share("digits, threads", threads, rounds));
    worst = std::max(worst, print_share("digits, sim", simulation, rounds));
  }
  for (const Drawn& drawn : {Drawn{Kind::timing_only, "bsp", 8, steps},
                             Drawn{Kind::timing_only, "sesgd:form=paper", 256, steps / 10}})
    bare = std::max(bare, print_share("sim, timing only", drawn, rounds));
  fmt::print("\n");
  MustHold must_hold(size);
  must_hold.at_full_size(worst <= kLargest, "training spends at most 3 % in the recorder");
  must_hold.at_full_size(bare <= kLargestWithoutTraining,
                         "timing alone spends at most 10 % in the recorder (wanted: 3)");
  return must_hold.exit_status();
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) { return huddle::bench(huddle::bench_size(argc, argv)); }
