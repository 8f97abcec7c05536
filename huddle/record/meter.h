// Where a worker's time went, and what it exchanged.
//
// Time is told apart in the same way everywhere. *wait*: blocked until the first bytes of a peer
// arrive. *exchange*: blocked after that. *hidden*: in flight while the worker computes. *compute*:
// everything else.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

// One group average (or broadcast …) as one worker saw it.
struct Exchange {
  Time begin = 0;
  Time first_bytes = 0;  // When the first data of a peer was there.
  Time end = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;

  static auto fields(auto& self) {
    return std::tie(self.begin, self.first_bytes, self.end, self.bytes_sent, self.messages_sent);
  }
};

// Seconds of one worker, disjoint; they add up to the time that has passed, but for `hidden`, which
// runs beside compute.
struct TimeSplit {
  Seconds compute = 0;
  Seconds wait = 0;
  Seconds exchange = 0;
  Seconds hidden = 0;

  static auto fields(auto& self) {
    return std::tie(self.compute, self.wait, self.exchange, self.hidden);
  }
};

// One stretch of time in which a worker stood still, and for what.
struct Blocked {
  Time from = 0;
  Time first_bytes = 0;  // Waiting until then, exchanging after it.
  Time to = 0;
  std::vector<Exchange> exchanges;

  static auto fields(auto& self) {
    return std::tie(self.from, self.first_bytes, self.to, self.exchanges);
  }
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
    if (keeps_blocked_)
      total_.blocked.push_back({from, first, to, {exchanges.begin(), exchanges.end()}});
  }

  // An exchange that the worker sat through from beginning to end.
  void blocked(const Exchange& exchange) { blocked({&exchange, 1}, exchange.begin, exchange.end); }

  // From now on totals tell every stretch, for a timeline.
  void keep_blocked() { keeps_blocked_ = true; }

  struct Total {
    TimeSplit time;  // `compute` stays 0: the meter does not see it.
    std::int64_t bytes_sent = 0;
    std::int64_t messages_sent = 0;
    std::vector<Blocked> blocked;
  };

  // What was added up since the last call.
  Total take() { return std::exchange(total_, {}); }

 private:
  Total total_;
  bool keeps_blocked_ = false;
};

}  // namespace huddle
