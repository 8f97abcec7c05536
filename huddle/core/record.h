// What is written down about a run: where each worker's time went, step by step, and what the run
// came to.
//
// Time is told apart in the same way everywhere. *wait*: blocked until the first bytes of a peer
// arrive. *exchange*: blocked after that. *hidden*: in flight while the worker computes. *compute*:
// everything else.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/core/group.h"
#include "huddle/core/ids.h"

namespace huddle {

// What one link of the network carried.
struct LinkUse {
  std::string name;
  double bytes = 0;
  Seconds busy = 0;  // At least one message was on it.
  Seconds full = 0;  // So long it takes to carry the bytes with what others leave of it.
  double bytes_per_second = 0;
};

// One group average (or broadcast …) as one worker saw it.
struct Exchange {
  Time begin = 0;
  Time first_bytes = 0;  // When the first data of a peer was there.
  Time end = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
};

// Seconds of one worker, disjoint; they add up to the time that has passed, but for `hidden`, which
// runs beside compute.
struct TimeSplit {
  Seconds compute = 0;
  Seconds wait = 0;
  Seconds exchange = 0;
  Seconds hidden = 0;
};

// One line of steps.jsonl: one worker, one step.
struct StepRecord {
  WorkerId worker;
  Step step;
  Time end = 0;  // When the step was over.
  double loss = 0;
  double learning_rate = 0;
  TimeSplit time;
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;
  Group group;                  // With whom the worker averaged.
  std::optional<double> drift;  // Of all workers, where it was measured at this step.
};

// Adds up what one worker exchanged since the last `take`. Used by that worker's own thread alone.
class Meter {
 public:
  // The worker was blocked from `from` to `to` until all of `exchanges` had ended. Whatever of them
  // lies outside that was hidden behind computation.
  void blocked(std::span<const Exchange> exchanges, Time from, Time to) {
    Time first_bytes = to;
    for (const Exchange& exchange : exchanges) {
      first_bytes = std::min(first_bytes, exchange.first_bytes);
      const Seconds overlap = std::min(exchange.end, to) - std::max(exchange.begin, from);
      total_.time.hidden += exchange.end - exchange.begin - std::max(overlap, 0.0);
      total_.bytes_sent += exchange.bytes_sent;
      total_.messages_sent += exchange.messages_sent;
    }
    const Time first = std::max(first_bytes, from);
    total_.time.wait += first - from;
    total_.time.exchange += to - first;
  }

  // An exchange that the worker sat through from beginning to end.
  void blocked(const Exchange& exchange) { blocked({&exchange, 1}, exchange.begin, exchange.end); }

  struct Total {
    TimeSplit time;  // `compute` stays 0: the meter does not see it.
    std::int64_t bytes_sent = 0;
    std::int64_t messages_sent = 0;
  };

  // What was added up since the last call.
  Total take() {
    const Total taken = total_;
    total_ = {};
    return taken;
  }

 private:
  Total total_;
};

// How good a model is on the test set.
struct Quality {
  double loss = 0;
  std::optional<double> accuracy;  // Absent where there are no classes.
};

// The closing figures of a run, all that summary.json and the closing table need.
struct Summary {
  std::string strategy;
  std::string engine;
  std::string model;
  std::string data;
  std::string split;
  std::string optimizer;
  std::string status = "complete";  // Or "interrupted", or "failed: …".
  int workers = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 0;        // Asked for.
  std::int64_t steps_done = 0;   // By the slowest worker.
  std::int64_t steps_taken = 0;  // By all workers together, in this run.
  std::uint64_t seed = 0;
  std::int64_t parameters = 0;
  Seconds seconds = 0;  // Of the step loop, evaluation not counted.
  double samples_per_second = 0;
  double loss = 0;  // Mean training loss of the last steps.
  std::optional<Quality> consensus;
  std::optional<Quality> swa;  // The mean of all workers' running means, where they are kept.
  std::map<std::string, Quality> others;  // Further models of the strategy (an anchor), by name.
  std::vector<Quality> by_worker;
  std::optional<double> drift;
  std::vector<TimeSplit> time;  // By worker.
  double bytes_sent_per_worker = 0;
  std::vector<std::string> lost;  // One line per worker that was lost.
  std::vector<std::string> warnings;
  std::string cluster;         // Its name, where it has one.
  std::string network;         // The network model of a simulation; empty: time was real.
  std::vector<LinkUse> links;  // Where the engine knows them.
};

}  // namespace huddle
