// A group average of a replica that travels while training goes on (late_values.h): what hidden
// groups and hidden P-Reduce launch after one step and take after a later one.
//
// Parameters always; slots and statistics where they are averaged. Memory beyond the replica: two
// buffers for each of them, made here (slots of bfloat16 that travel as int8: three). Messages come
// on top of that, up to what travels once more.
//
// So what rounding to a narrow format loses has no place to wait in: it stays with its worker, in
// groups of any size. Members of n end up to n/256 of a number apart in bfloat16, and their mean is
// exact.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "huddle/replica/averages_in_flight.h"
#include "huddle/replica/late_values.h"
#include "huddle/replica/replica_exchange.h"

namespace huddle {

// Used by the worker's own thread.
class LateAverage {
 public:
  struct Terms {
    Averaging how;
    SlotPolicy slots = SlotPolicy::keep;
    std::optional<WireFormat> slots_wire = {};  // See ReplicaExchange::Cargo.
    Lane lane;
  };

  // All references outlive this.
  LateAverage(Endpoint& endpoint, Meter& meter, Replica& replica, const Terms& terms);

  // The model that training begins with is there, and nothing is under way.
  void start();

  // Waits for what is under way, and takes it. The meter learns how much of it was hidden.
  void correct();

  // What the model is now travels. REQUIRES: nothing has changed since `correct` or `start`.
  // `number`: see ReplicaExchange.
  void launch(const Group& group, std::int64_t number);

  // The same for those who learn only beside the worker whom they meet: `exchange` runs there and
  // averages by `travelling`.
  void launch(AveragesInFlight::Average exchange);
  ReplicaExchange& travelling() { return exchange_; }

  // What a resumed run needs: waits for what is under way and keeps it, not taken yet.
  std::map<std::string, at::Tensor> tensors() const;
  void load(const std::map<std::string, at::Tensor>& tensors);

 private:
  static std::vector<LateValues> late_values(const Replica& replica, SlotPolicy slots);
  ReplicaExchange::Cargo cargo() const;

  Endpoint& endpoint_;
  Replica& replica_;
  const Terms terms_;
  const std::vector<LateValues> values_;  // Of parameters, statistics, slots.
  ReplicaExchange exchange_;
  // Waiting for what is under way changes nothing but the time, so const functions may do it.
  // Last: it ends before what it uses.
  mutable AveragesInFlight in_flight_;
};

}  // namespace huddle
