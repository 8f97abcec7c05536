// The averages of one worker that are not settled yet: under way beside it, or done in the
// foreground and not yet counted.
//
// Overlap is written as start ... settle. Whoever starts an average says nothing about time;
// whoever settles says since when the worker has been blocked, and the meter learns from both what
// was waited for and what was hidden behind computation.

#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "huddle/record/meter.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// `more` followed `total` at once: the two become one exchange.
void append(Exchange& total, const Exchange& more);

// Used by the worker's own thread. Averages under way end before this does: make it the last member
// of whatever owns the tensors they use.
class AveragesInFlight {
 public:
  // Both outlive this. `deadline`: for each wait.
  AveragesInFlight(Endpoint& endpoint, Meter& meter, Deadline deadline)
      : endpoint_(endpoint), meter_(meter), deadline_(deadline) {}

  using Average = std::function<Exchange(Endpoint&)>;

  // Runs `average` beside the worker, in `lane`. Until it has landed, what it uses is its own.
  void start(Lane lane, Average average);

  // Runs `average` here and now.
  void run(const Average& average) { exchanges_.push_back(average(endpoint_)); }

  // Waits until nothing is under way and throws what an average threw. The meter does not hear of
  // it: for moments that are no part of training.
  void land();

  // Lands everything and tells the meter: the worker has been blocked since `from`, and whatever
  // ran before that was hidden.
  void settle(Time from);

 private:
  void wait_for(Pending& average);

  Endpoint& endpoint_;
  Meter& meter_;
  const Deadline deadline_;
  std::deque<Exchange> exchanges_;  // Programs under way write into them, so they must not move.
  std::vector<Pending> under_way_;  // Last: programs end before what they write into.
};

}  // namespace huddle
