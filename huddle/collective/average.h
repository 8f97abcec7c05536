// The group average: all members end with the mean of their tensors, in identical bits (but for
// what a wire format leaves to each of them, see Rounding).
//
// The bits are a function of (algorithm, group, flat index) alone: the same over messages, in
// shared memory and on every engine. The average is formed in a second buffer and committed when it
// is complete, so a member that loses a peer in the middle still holds its own values.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "huddle/collective/arithmetic.h"
#include "huddle/collective/execute.h"
#include "huddle/collective/plan.h"
#include "huddle/collective/trace.h"
#include "huddle/collective/wire/wire_format.h"
#include "huddle/record/meter.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// What becomes of the errors of rounding to the wire format.
enum class Rounding {
  forgotten,  // As other systems do: all members end with the same bits, near to the mean.
  kept,       // Whoever rounds adds what was lost to its own result, q(x) = x rounded:
              //   x_i <- x_i + (mean of q(x) - q(x_i)), for two members.
              // So their plain mean is exact, and they end as far apart as the format is coarse.
              // With more members sums are rounded on their way, and what that loses is as many
              // times as coarse: residuals (below) serve better.
};

// How to average.
struct Averaging {
  Algorithm algorithm = Algorithm::automatic;
  WireFormat wire = WireFormat::full;  // bfloat16 tensors travel as they are, and errors of sums
                                       // are forgotten then.
  Rounding rounding = Rounding::kept;
  SharedTopology topology = std::make_shared<const Topology>();
  std::int64_t message_bytes =
      4 << 20;  // Larger messages are cut, so that adding overlaps receiving.
  Overlap overlap = Overlap::phases;
  Deadline deadline;
  double payload_scale = 1;  // Bytes on the wire for each byte, by which `automatic` chooses.
};

// In virtual time nothing is gained by adding while receiving, so messages are not cut there: each
// costs its latency once, as in the closed forms of cluster/cost.h.
Averaging whole_messages_if_virtual(Averaging how, const Endpoint& endpoint);

// Averages in one lane of one worker, one average at a time; keeps plans and buffers from one to
// the next.
class Averager {
 public:
  explicit Averager(const Averaging& how, Lane lane = kMainLane) : how_(how), lane_(lane) {}

  // Every member of `group` calls this with a tensor of one size and type, the same sequence number
  // and the same weights (one for each position; none: the plain mean; they need not add up to 1).
  // `tensor` is 1-D and contiguous and changes in place. Throws UsageError where the algorithm does
  // not fit the group, and PeerLost or Timeout with the tensor as it was.
  Exchange average(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                   Sequence sequence, std::span<const double> weights = {});

  // The same with `residuals` added to what is averaged: what rounding lost the last time. In their
  // place comes what it loses now (nothing, if it throws). All members end with the same bits.
  Exchange average_with_residuals(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                                  Sequence sequence, const at::Tensor& residuals,
                                  std::span<const double> weights = {});

  // The plain mean of everybody's `sent` forms in `mean`, of the type of sums, without a buffer of
  // this class. What rounding loses is taken off `sent`: that is then what this worker gave, and
  // x - sent + mean the difference form. With `residuals` those are treated as above instead. If it
  // throws, drop `mean`: peers may still be reading it.
  Exchange form_mean(Endpoint& endpoint, const Group& group, const at::Tensor& sent,
                     Sequence sequence, const at::Tensor& mean, const at::Tensor& residuals = {});

  // Whether its messages are narrower than its sums, and what that loses is not to be forgotten.
  bool carries_errors() const {
    return how_.wire != WireFormat::full && how_.rounding == Rounding::kept;
  }

 private:
  // What is known about averaging one size of tensor at one place in groups of one shape: which
  // members they have makes no difference to a plan.
  struct Prepared {
    int segments = 1;
    CompiledPlan compiled;
    std::shared_ptr<const Trace>
        trace;  // In shared memory, where its orders are all that is needed.
  };
  struct Key {
    Algorithm algorithm = Algorithm::automatic;
    int members = 0;
    int position = 0;
    Racks racks;  // Where the algorithm knows them.
    std::int64_t elements = 0;
    at::ScalarType type = at::kFloat;
    bool is_in_memory = false;
    auto operator<=>(const Key&) const = default;
  };

  // `native`: what is prepared is an average in memory.
  const Prepared& prepare(const Group& group, WorkerId self, const at::Tensor& tensor,
                          GroupReduce* native);
  double own_weight(const Endpoint& endpoint, const Group& group,
                    std::span<const double> weights) const;
  WireFormat format_of(const at::Tensor& tensor) const;
  Algorithm algorithm_for(const Group& group, const at::Tensor& tensor) const;
  GroupReduce* native_for(Endpoint& endpoint, const Group& group, const at::Tensor& tensor) const;
  Exchange over_messages(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                         Sequence sequence, const at::Tensor& sum, const Losses& losses,
                         const at::Tensor& mean = {});
  bool is_plain_pair(const Group& group, const at::Tensor& tensor,
                     std::span<const double> weights) const;
  Exchange as_pair(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                   Sequence sequence);
  Exchange with_residuals(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                          Sequence sequence, const at::Tensor& sum, const at::Tensor& residuals);
  at::Tensor buffer(at::Tensor& kept, const at::Tensor& like) const;
  Tag tag(Sequence sequence) const;
  Exchange in_memory(Endpoint& endpoint, GroupReduce& native, const Group& group,
                     const at::Tensor& tensor, Sequence sequence, std::span<const double> weights,
                     double divisor);

  const Averaging how_;
  const Lane lane_;
  std::map<Key, Prepared> prepared_;
  at::Tensor sum_;
  at::Tensor errors_;  // Of rounding, where they are kept.
  Scratch scratch_;
  BlockBuffers block_buffers_;
};

}  // namespace huddle
