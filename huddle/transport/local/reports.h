// What those who receive from anybody know of the ends of workers: each end is told once in each
// channel, and not before all that its worker had sent there has arrived. Guarded by the hub's
// lock.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/transport/local/channels.h"

namespace huddle {

// A message on its way to somebody who receives from anybody.
struct Journey {
  static constexpr Time kUnknown = -1;

  Channels::Key channel;
  Time end = kUnknown;
};

class Reports {
 public:
  explicit Reports(int workers)
      : workers_(static_cast<std::size_t>(workers)), under_way_(workers_) {}

  // A message of `sender` has found its receiver. The end of its journey is set when it is known.
  std::shared_ptr<Journey> begin(Channels::Key channel, WorkerId sender, Time now);

  void note_end(WorkerId worker) { ended_.push_back(worker); }

  // The moment from which `receiver` may know of the end of `worker` in this channel, which is
  // taken as told by this; none: it knows already, or messages are still on their way.
  std::optional<Time> take(Channels::Key channel, WorkerId receiver, WorkerId worker);

  // The same for whatever end it may know first.
  struct End {
    WorkerId worker;
    Time known_at = 0;
  };
  std::optional<End> take_first(Channels::Key channel, WorkerId receiver);

 private:
  struct UnderWay {
    std::vector<std::shared_ptr<Journey>> journeys;
    std::size_t look_again = 16;  // At how many those that have ended are left out.
  };
  struct Told {
    std::vector<bool> workers;
    std::size_t all_before = 0;  // Of all ends before this one it has been told.
  };

  Told& told_in(Channels::Key channel);
  // When all that `sender` has under way there has arrived; none while that is open.
  std::optional<Time> all_arrived(Channels::Key channel, WorkerId sender) const;

  const std::size_t workers_;
  std::vector<WorkerId> ended_;      // In the order of their ends.
  std::vector<UnderWay> under_way_;  // By sender.
  std::unordered_map<Channels::Key, Told, Channels::Hash> told_;
};

}  // namespace huddle
