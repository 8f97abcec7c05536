// The averages of AD-PSGD: two workers exchange models while both compute, and each moves by half
// of the difference: of what was sent, which may be rounded; so their sum stays what it was. As
// int8 (near_pairs.h) only what a pair's models differ by travels.
//
// Averages go into a communication copy of the model, under Endpoint::exclusive, so that parameters
// never change under a running forward pass. Half of the workers only ask (those of even number:
// active), the others only answer, beside whatever they compute: roles against deadlock.

#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "huddle/collective/wire/near_pairs.h"
#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/entry.h"
#include "huddle/transport/requests.h"

namespace huddle {

// Used by the worker's own thread.
class PairAverages {
 public:
  PairAverages(const StrategyContext& context, WireFormat wire);

  // The copy is the replica's model, and passive workers answer from now on. Once, and first.
  void start();

  bool is_active() const { return is_active_; }

  // Those of the other role; of an active worker, those not lost. REQUIRES: nothing is begun.
  const std::set<WorkerId>& others() const { return others_; }

  // Begins an average with `peer`. REQUIRES: this worker is active.
  void begin(WorkerId peer);

  // Waits for what was begun, and tells the meter of it and of what was answered meanwhile.
  void settle();

  // `body` sees the communication copy, and no average changes it meanwhile.
  void with_copy(const std::function<void(const at::Tensor& copy)>& body);

  // Takes no further part. A passive worker answers until no active one asks any more.
  void leave();

 private:
  struct Request {
    bool leaves = false;
    static auto fields(auto& self) { return std::tie(self.leaves); }
  };

  Exchange ask_for_average(Endpoint& endpoint, WorkerId peer);
  void serve(Endpoint& endpoint);
  Exchange average_with(Endpoint& endpoint, WorkerId peer);
  Exchange swap_models(Endpoint& endpoint, WorkerId peer);

  Endpoint& endpoint_;
  Meter& meter_;
  const Replica& replica_;
  const Deadline deadline_;
  const at::ScalarType wire_type_;
  std::optional<NearPairs> near_;  // Used by whoever averages: the program, or the service.
  const bool is_active_;
  std::set<WorkerId> others_;
  at::Tensor copy_;                 // Used in exclusive bodies.
  std::vector<Exchange> answered_;  // Likewise; not yet with the meter.
  at::Tensor sent_;                 // These two are the average's that is under way.
  at::Tensor received_;
  AveragesInFlight in_flight_;  // These two last: what is under way ends before what it uses.
  Service service_;
};

}  // namespace huddle
