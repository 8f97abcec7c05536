#include "huddle/replica/averages_in_flight.h"

#include <utility>

#include "huddle/base/error.h"

namespace huddle {

void append(Exchange& total, const Exchange& more) {
  total.end = more.end;
  total.bytes_sent += more.bytes_sent;
  total.messages_sent += more.messages_sent;
}

// Whatever an average waits for has a deadline of its own, so as long as it has not ended it makes
// progress.
void AveragesInFlight::wait_for(Pending& average) {
  while (true) try {
      return average.wait(deadline_);
    } catch (const Timeout&) {
      if (average.ready()) return average.wait(deadline_);  // Of the average itself, or it ended.
    }
}

void AveragesInFlight::start(Lane lane, Average average) {
  Exchange& exchange = exchanges_.emplace_back();
  under_way_.push_back(endpoint_.spawn(
      lane,
      [average = std::move(average), &exchange](Endpoint& beside) { exchange = average(beside); }));
}

void AveragesInFlight::land() {
  for (Pending& average : under_way_) wait_for(average);
  under_way_.clear();
}

void AveragesInFlight::settle(Time from) {
  land();
  if (exchanges_.empty()) return;
  const std::vector<Exchange> exchanges(exchanges_.begin(), exchanges_.end());
  meter_.blocked(exchanges, from, endpoint_.now());
  exchanges_.clear();
}

}  // namespace huddle
