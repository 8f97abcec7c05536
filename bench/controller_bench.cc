// How long the controller of P-Reduce takes to tell a group that it is one.
// Run: build/controller_bench [--tiny]
//
// 64 workers on threads, all but three idle. Two report ready, a little later the third does:
// from its report until all three know their group. Beside it the same messages, answered by a
// service that decides nothing. Must hold, at full size: the median is at most 3 times that. The
// goal is 200 microseconds on 2 idle cores; it is printed, and not a bound, because other people's
// work on the machine would decide it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "bench/must_hold.h"
#include "huddle/base/error.h"
#include "huddle/collective/barrier.h"
#include "huddle/report/format.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/p_reduce/controller.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr int kWorkers = 64;
constexpr int kGroup = 3;
constexpr Seconds kGoal = 200e-6;
constexpr Seconds kHeadStart = 2e-3;  // Of the first two: they are in the queue by then.
constexpr Deadline kDeadline{60};

// When the last of a round reported, and when each member knew.
struct Round {
  Time reported = 0;
  std::array<Time, kGroup> known{};

  Seconds taken() const { return *std::max_element(known.begin(), known.end()) - reported; }
};

// The place of `worker` in the round's group, the last reporting last; kGroup and more: idle.
int place_in(std::size_t round, WorkerId worker) {
  const int first = static_cast<int>(round) * kGroup % kWorkers;
  return (worker.value - first + kWorkers) % kWorkers;
}

using Asking = Client<Request, Assignment>;

// One worker's part in one round. Writes its own fields alone.
void report(Endpoint& endpoint, Asking& controller, int place, std::int64_t number, Round& round) {
  if (place == kGroup - 1) {
    endpoint.compute(Step{number}, kHeadStart);
    round.reported = endpoint.now();
  }
  controller.ask({.iteration = number});
  controller.reply();
  round.known[static_cast<std::size_t>(place)] = endpoint.now();
}

using Serve = std::function<void(Endpoint&)>;

void take_part(Endpoint& endpoint, const Serve& serve, std::vector<Round>& rounds) {
  const Group everyone = Group::everyone(kWorkers);
  Service service(endpoint, {.home = {0},
                             .lane = kControllerLane,
                             .deadline = kDeadline,
                             .without = [](WorkerId) { return "nobody forms groups"; }});
  Asking controller(endpoint, service, kControllerLane, longest_assignment(kGroup));
  if (service.is_here()) service.start(serve);
  std::int64_t number = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    barrier(endpoint, everyone, {.sequence = {static_cast<std::uint32_t>(i)}}, kDeadline);
    const int place = place_in(i, endpoint.self());
    if (place < kGroup) report(endpoint, controller, place, number++, rounds[i]);
  }
  controller.tell({.kind = Request::Kind::leave});
  service.join();
}

// What any service must do: hear of three, reply to three.
void reply_to_each_three(Endpoint& endpoint) {
  Requests<Request> requests(endpoint, kControllerLane);
  std::vector<Requests<Request>::Event> waiting;
  for (int present = kWorkers; present > 0;) try {
      const auto event = requests.next();
      if (event.request.kind == Request::Kind::leave)
        --present;
      else
        waiting.push_back(event);
      if (waiting.size() < kGroup) continue;
      for (const auto& each : waiting)
        requests.reply(each.from, each.number, Assignment{}, longest_assignment(kGroup));
      waiting.clear();
    } catch (const PeerLost&) {
      continue;  // It has left before.
    }
}

std::vector<Seconds> measured(const Serve& serve, std::size_t count) {
  ThreadsOptions options;
  options.cluster.workers = kWorkers;
  std::vector<Round> rounds(count);
  make_threads_launcher(options)->run(
      [&](Endpoint& endpoint) { take_part(endpoint, serve, rounds); });
  std::vector<Seconds> taken;
  for (const Round& round : rounds) taken.push_back(round.taken());
  return taken;
}

Seconds quantile(std::vector<Seconds> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void append(std::vector<Seconds>& all, const std::vector<Seconds>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

int bench(BenchSize size) {
  const std::size_t rounds = size == BenchSize::tiny ? 20 : 200;
  std::vector<Seconds> bare;
  std::vector<Seconds> taken;
  // In turns, so that whatever else the machine does meets both.
  for (int turn = 0; turn < (size == BenchSize::tiny ? 1 : 5); ++turn) {
    Controller controller({.former = {.workers = kWorkers,
                                      .group = kGroup,
                                      .filter = GroupFormerOptions::Filter::off,
                                      .budget = 1'000'000}});
    append(bare, measured(reply_to_each_three, rounds));
    append(taken, measured([&](Endpoint& beside) { controller.serve(beside); }, rounds));
  }
  const Seconds median = quantile(taken, 0.5);
  const double ratio = median / quantile(bare, 0.5);
  fmt::print(
      "{}\n{} workers on threads, groups of {}, {} groups\n"
      "from the last report until all members know: median {}, 90 % {}\n"
      "the same messages without a controller: median {}, 90 % {}\n"
      "ratio {:.2f}; the goal of {} is {}\n",
      machine_description(), kWorkers, kGroup, taken.size(), format_seconds(median),
      format_seconds(quantile(taken, 0.9)), format_seconds(quantile(bare, 0.5)),
      format_seconds(quantile(bare, 0.9)), ratio, format_seconds(kGoal),
      median < kGoal ? "reached" : "not reached");
  MustHold must_hold(size);
  must_hold.at_full_size(ratio <= 3, "at most 3 times as long as the messages alone");
  return must_hold.exit_status();
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) { return huddle::bench(huddle::bench_size(argc, argv)); }
