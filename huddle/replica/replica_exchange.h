// What of a replica travels when a group averages, in which order and under which numbers:
// parameters, then optimizer slots and statistics as their policies say. One place for all
// strategies that average models.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "huddle/collective/average.h"
#include "huddle/replica/replica.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// What becomes of optimizer state where models are averaged.
enum class SlotPolicy { keep, average, reset };

// What becomes of the statistics that a model measures rather than learns (BatchNorm's running mean
// and variance).
enum class StatisticsPolicy {
  keep,       // They stay with their worker, measured on its data alone.
  average,    // They are averaged, during training or with the final models.
  recompute,  // They are measured anew, on training data, for every model that is evaluated.
};

// Exchanges in one lane of one worker, one at a time. The replica outlives this, and is cut into
// buckets before the first exchange, for good.
class ReplicaExchange {
 public:
  struct Cargo {
    SlotPolicy slots = SlotPolicy::keep;
    StatisticsPolicy statistics = StatisticsPolicy::average;
    at::Tensor in_place_of_parameters = {};          // If defined: what travels instead,
    at::Tensor in_place_of_statistics = {};          // likewise,
    std::vector<at::Tensor> in_place_of_slots = {};  // if there are any.
  };

  ReplicaExchange(const Replica& replica, const Averaging& how, Cargo cargo, Lane lane = kMainLane);

  // Averages whatever travels, of all of the model. Members call it with the same `number`, which
  // no other exchange of theirs bears, and the same weights. Throws like Averager::average, with
  // each tensor either averaged or as it was.
  Exchange run(Endpoint& endpoint, const Group& group, std::int64_t number,
               std::span<const double> weights = {});

  // What `run` is made of: parameters and slots, of one bucket; then statistics.
  Exchange model(Endpoint& endpoint, const Group& group, std::int64_t number, const Bucket& bucket,
                 std::span<const double> weights = {});
  Exchange statistics(Endpoint& endpoint, const Group& group, std::int64_t number,
                      std::span<const double> weights = {});

 private:
  Sequence sequence(std::int64_t number, std::size_t index) const;

  const Replica& replica_;
  const Cargo cargo_;
  const at::Tensor parameters_;
  const at::Tensor statistics_;
  Averager averager_;
  Averager exact_;  // Of statistics, which are few.
};

}  // namespace huddle
