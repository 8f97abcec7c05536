#include "huddle/cluster/cluster.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/base/text.h"
#include "huddle/cluster/cluster_problems.h"

namespace huddle {
namespace {

// Everything random draws from a stream of its own; 5 belongs to the variations of links in
// network.cc.
constexpr std::uint64_t kJitterStream = 1;
constexpr std::uint64_t kWanderStream = 2;
constexpr std::uint64_t kRandomSlowdownStream = 3;
constexpr std::uint64_t kPauseStream = 4;

// A normal jitter may come near or below zero, which no computation does.
constexpr double kLeastJitter = 0.05;

std::uint64_t word(WorkerId worker) { return static_cast<std::uint64_t>(worker.value); }
std::uint64_t word(Step step) { return static_cast<std::uint64_t>(step.value); }

double slowdown_factor(const Cluster& cluster, WorkerId worker, Step step) {
  double factor = 1;
  for (const Slowdown& slowdown : cluster.slowdowns)
    if (slowdown.worker == worker && slowdown.first <= step && step <= slowdown.last)
      factor *= slowdown.factor;
  return factor;
}

// Whether `worker` is among those that the random slowdown hits at `step`. Everybody draws the
// same distinct workers, by Floyd's method: the candidates grow by one at each draw, and a draw
// that was drawn before stands for the newest candidate.
bool is_drawn(const Cluster& cluster, WorkerId worker, Step step) {
  const int count = cluster.random_slowdown.workers;
  Random random(cluster.seed, {kRandomSlowdownStream, word(step)});
  std::vector<bool> drawn(static_cast<std::size_t>(cluster.workers));
  for (int newest = cluster.workers - count; newest < cluster.workers; ++newest) {
    std::size_t next = random.below(static_cast<std::uint64_t>(newest) + 1);
    if (drawn[next]) next = static_cast<std::size_t>(newest);
    if (next == static_cast<std::size_t>(worker.value)) return true;
    drawn[next] = true;
  }
  return false;
}

double jitter_factor(const Cluster& cluster, WorkerId worker, Step step) {
  double drawn = Random(cluster.seed, {kJitterStream, word(worker), word(step)}).normal();
  if (cluster.jitter_kind == Cluster::Jitter::half_normal) drawn = std::abs(drawn);
  return std::max(kLeastJitter, 1 + cluster.jitter * drawn);
}

double wander_factor(const Cluster& cluster, WorkerId worker, Step step) {
  const double phase = Random(cluster.seed, {kWanderStream, word(worker)}).uniform();
  const double turns = static_cast<double>(step.value) / cluster.wander.period_steps + phase;
  return 1 + cluster.wander.amplitude * std::sin(2 * std::numbers::pi * turns);
}

Seconds rest_in_step(const Cluster& cluster, WorkerId worker, Step step) {
  Seconds rest = 0;
  for (std::size_t i = 0; i < cluster.pauses.size(); ++i) {
    const Pause& pause = cluster.pauses[i];
    if (pause.worker && *pause.worker != worker) continue;
    Random random(cluster.seed, {kPauseStream, i, word(worker), word(step)});
    if (random.uniform() < pause.probability) rest += pause.seconds;
  }
  return rest;
}

}  // namespace

std::string to_string(Place place) {
  return concat(place.kind == Place::Kind::worker ? "worker " : "rack ", place.index);
}

Seconds Cluster::compute_time(WorkerId worker, Step step, Seconds work) const {
  double factor = slowdown_factor(*this, worker, step);
  if (random_slowdown.workers > 0 && is_drawn(*this, worker, step))
    factor *= random_slowdown.factor;
  if (jitter > 0) factor *= jitter_factor(*this, worker, step);
  if (wander.amplitude > 0) factor *= wander_factor(*this, worker, step);
  if (!pauses.empty()) factor += rest_in_step(*this, worker, step) / compute_per_step;
  return work * factor;
}

Seconds Cluster::with_halts(WorkerId worker, Time now, Seconds work) const {
  if (halts.empty()) return work;
  std::vector<std::pair<Time, Time>> stops;  // From when until when, in order.
  for (const Halt& halt : halts)
    if (halt.worker == worker) stops.emplace_back(halt.from, halt.from + halt.seconds);
  std::sort(stops.begin(), stops.end());

  Seconds left = work;
  Seconds halted = 0;
  for (const auto& [from, until] : stops) {
    if (until <= now) continue;
    if (from > now) {
      if (from - now >= left) break;
      left -= from - now;
      now = from;
    }
    halted += until - now;
    now = until;
  }
  return work + halted;
}

std::vector<std::string> Cluster::problems() const {
  std::vector<std::string> sentences;
  for (ClusterProblem& problem : find_problems(*this))
    sentences.push_back(std::move(problem.sentence));
  return sentences;
}

void Cluster::validate() const {
  const std::vector<std::string> sentences = problems();
  if (!sentences.empty()) throw UsageError(joined(sentences, "\n"));
}

}  // namespace huddle
