// What of a replica travels when a group averages, in which order and under which numbers:
// parameters, then optimizer slots and statistics as their policies say. One place for all
// strategies that average models.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/collective/average.h"
#include "huddle/collective/wire/near_pairs.h"
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

// A tensor that a group averages: in place, or, where `sent` is defined, as the mean of everybody's
// `sent` (Averager::form_mean). After a loss it is what was sent.
struct Travelling {
  at::Tensor values = {};
  at::Tensor sent = {};
};

// Exchanges in one lane of one worker, one at a time. The replica outlives this, and is cut into
// buckets before the first exchange, for good.
class ReplicaExchange {
 public:
  struct Cargo {
    // Where what rounding loses goes in groups larger than two: see the constructor.
    enum class Errors { wait, stay };

    SlotPolicy slots = SlotPolicy::keep;
    StatisticsPolicy statistics = StatisticsPolicy::average;
    std::optional<WireFormat> slots_wire = {};       // Nothing: that of the parameters.
    Travelling in_place_of_parameters = {};          // If defined: what travels instead,
    Travelling in_place_of_statistics = {};          // likewise,
    std::vector<Travelling> in_place_of_slots = {};  // if there are any.
    Errors errors = Errors::wait;
  };

  // `how.wire`: of parameters and slots; int8 stands for near_pairs.h where parameters travel. What
  // rounding to a narrow format loses stays with its worker in pairs. In larger groups it waits to
  // be added to what that worker sends the next time, which takes one more buffer like what
  // travels, or it stays there, too, as many times as coarse as the group is large.
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

  // What a resumed run needs. REQUIRES: nothing is under way.
  std::map<std::string, at::Tensor> tensors() const;
  void load(const std::map<std::string, at::Tensor>& tensors);

 private:
  struct Terms {
    const Group& group;
    Sequence sequence;
    std::span<const double> weights;
  };

  Exchange average(Endpoint& endpoint, Averager& averager, const Travelling& what, Range range,
                   const Terms& terms, at::Tensor* residuals = nullptr);
  Exchange average_near(Endpoint& endpoint, const Travelling& what, const Bucket& bucket,
                        const Terms& terms);
  Sequence sequence(std::int64_t number, std::size_t index) const;

  const Replica& replica_;
  const Cargo cargo_;
  const bool pairs_are_near_;
  Averager parameters_;
  Averager slots_;
  Averager statistics_;  // Which are few, and travel in full.
  NearPairs near_;
  std::vector<at::Tensor> residuals_;  // Of parameters and slots; undefined until they are needed.
};

}  // namespace huddle
