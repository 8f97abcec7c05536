// How near the in-memory group average is to the speed of memory.  Run: build/average_bench
// [--tiny]
//
// 4 threads average 32 MB each; beside it, in the same run and in turns, 4 threads copy their 32 MB
// with memcpy. Both read and write 4 x 32 MB. Must hold: the average reaches at least 60 % of
// memcpy's speed (medians; checked at full size only).

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/collective/average.h"
#include "huddle/collective/barrier.h"
#include "huddle/report/format.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr int kWorkers = 4;
constexpr Deadline kDeadline{120};

Seconds median(std::vector<Seconds> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Timing {
  Seconds copy = 0;
  Seconds average = 0;
};

// The time from the first beginning to the last end, seen by worker 0 between two barriers.
template <typename Work>
Seconds timed(Endpoint& endpoint, Work&& work) {
  const Group everyone = Group::everyone(kWorkers);
  barrier(endpoint, everyone, {}, kDeadline);
  const Time begin = endpoint.now();
  work();
  barrier(endpoint, everyone, {}, kDeadline);
  return endpoint.now() - begin;
}

Timing measure(Algorithm algorithm, std::int64_t elements, int rounds) {
  ThreadsOptions options;
  options.cluster.workers = kWorkers;
  Timing timing;
  make_threads_launcher(options)->run([&](Endpoint& endpoint) {
    const Group everyone = Group::everyone(kWorkers);
    const at::Tensor tensor = at::empty({elements});
    const at::Tensor copy = at::zeros({elements});
    Averager averager({.algorithm = algorithm, .deadline = kDeadline});
    std::vector<Seconds> copies;
    std::vector<Seconds> averages;
    for (int round = 0; round < rounds; ++round) {
      tensor.fill_(endpoint.self().value);
      copies.push_back(timed(endpoint, [&] {
        std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(), tensor.nbytes());
      }));
      averages.push_back(timed(endpoint, [&] {
        averager.average(endpoint, everyone, tensor, Sequence{static_cast<std::uint32_t>(round)});
      }));
      check(tensor.eq(1.5).all().item<bool>(), "the average is wrong");
    }
    if (endpoint.self().value == 0) timing = {median(copies), median(averages)};
  });
  return timing;
}

int bench(bool tiny) {
  const std::int64_t elements = tiny ? 10'000 : 8'000'000;
  const int rounds = tiny ? 3 : 25;
  fmt::print("{}\n{} threads x {}, median of {} rounds\n\n{:<18}{:>10}{:>10}{:>8}\n",
             machine_description(), kWorkers, format_bytes(static_cast<double>(elements) * 4),
             rounds, "algorithm", "memcpy", "average", "ratio");
  double worst = 1e9;
  for (const char* name : {"ring", "direct", "halving_doubling"}) {
    const Timing timing = measure(parse_algorithm(name), elements, rounds);
    const double ratio = timing.copy / timing.average;
    worst = std::min(worst, ratio);
    fmt::print("{:<18}{:>10}{:>10}{:>8.2f}\n", name, format_seconds(timing.copy),
               format_seconds(timing.average), ratio);
  }
  fmt::print("\nworst ratio {:.2f}; must hold: at least 0.60{}\n", worst,
             tiny ? " (not at this size)" : "");
  return tiny || worst >= 0.6 ? 0 : 1;
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  return huddle::bench(argc > 1 && std::string_view(argv[1]) == "--tiny");
}
