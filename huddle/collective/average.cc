#include "huddle/collective/average.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// How many plans are kept. Groups of one size need as many as they have places; those that stand
// otherwise in their racks at each step would fill memory.
constexpr std::size_t kPlansKept = 256;

// A block of the shared-memory path: what one member combines before it looks for the next. Large
// enough that looking costs nothing, small enough that a slow member holds nobody up.
constexpr std::int64_t kBlockElements = 32 * 1024;

Racks racks_for(const Averaging& how, const Group& group) { return racks_of(group, *how.topology); }

// The trace of a group, which depends on nothing but what the name says: groups of one shape share
// it, and so do all their members in this process.
std::shared_ptr<const Trace> shared_trace(GroupReduce& native, Algorithm algorithm,
                                          const Racks& racks, Overlap overlap) {
  std::string name = concat("trace of ", algorithm_names()[static_cast<std::size_t>(algorithm)],
                            overlap == Overlap::none ? ", phases apart:" : ":");
  std::size_t members = 0;
  for (const std::vector<int>& rack : racks) {
    name += concat(" ", joined(rack, ','));
    members += rack.size();
  }
  const auto make = [&]() -> std::shared_ptr<const void> {
    std::vector<Plan> plans(members);
    for (std::size_t position = 0; position < members; ++position)
      plans[position] = make_plan(algorithm, static_cast<int>(position), racks, overlap);
    return std::make_shared<const Trace>(trace(plans));
  };
  return std::static_pointer_cast<const Trace>(native.share(name, make));
}

Exchange nothing(const Endpoint& endpoint) {
  const Time now = endpoint.now();
  return {now, now, now};
}

}  // namespace

Tag Averager::tag(Sequence sequence) const {
  return {Kind::payload, Purpose::average, lane_, sequence};
}

WireFormat Averager::format_of(const at::Tensor& tensor) const {
  const bool is_narrow = tensor.scalar_type() == at::kBFloat16 && how_.wire == WireFormat::full;
  return is_narrow ? WireFormat::bf16 : how_.wire;
}

Algorithm Averager::algorithm_for(const Group& group, const at::Tensor& tensor) const {
  const std::int64_t bytes =
      wire_bytes(format_of(tensor), sum_type(tensor.scalar_type()), tensor.numel());
  return choose(how_.algorithm, group.size(),
                static_cast<std::int64_t>(static_cast<double>(bytes) * how_.payload_scale));
}

const Averager::Prepared& Averager::prepare(const Group& group, WorkerId self,
                                            const at::Tensor& tensor, GroupReduce* native) {
  check(tensor.dim() == 1 && tensor.is_contiguous(), "only flat tensors are averaged");
  const Algorithm algorithm = algorithm_for(group, tensor);
  Key key{algorithm,
          group.size(),
          group.position_of(self),
          knows_racks(algorithm) ? racks_for(how_, group) : Racks(),
          tensor.numel(),
          tensor.scalar_type(),
          native != nullptr};
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return found->second;
  if (prepared_.size() >= kPlansKept) prepared_.clear();
  const Racks racks = racks_for(how_, group);
  const Plan plan = make_plan(algorithm, group.position_of(self), racks, how_.overlap);
  const WireFormat format = format_of(tensor);
  const auto element_bytes = static_cast<std::int64_t>(
      c10::elementSize(wire_type(format, sum_type(tensor.scalar_type()))));
  const Cuts cuts{.message_elements = std::max<std::int64_t>(1, how_.message_bytes / element_bytes),
                  .unit = smallest_cut(format),
                  .payload_scale = how_.payload_scale};
  Prepared prepared{plan.segments, compile(plan, tensor.numel(), cuts, how_.overlap), {}};
  if (native != nullptr) {
    prepared.compiled = prepared.compiled.without_messages();
    prepared.trace = shared_trace(*native, algorithm, racks, how_.overlap);
  }
  return prepared_[std::move(key)] = std::move(prepared);
}

Averaging whole_messages_if_virtual(Averaging how, const Endpoint& endpoint) {
  if (endpoint.is_virtual()) how.message_bytes = std::numeric_limits<std::int64_t>::max() / 2;
  return how;
}

// In one another's memory nothing is rounded on its way; where it is to be, messages do it.
GroupReduce* Averager::native_for(Endpoint& endpoint, const Group& group,
                                  const at::Tensor& tensor) const {
  const bool is_exact =
      format_of(tensor) == WireFormat::full ||
      (how_.wire == WireFormat::full && algorithm_for(group, tensor) == Algorithm::pair);
  return tensor.is_cpu() && is_exact ? endpoint.native() : nullptr;
}

Exchange Averager::average(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                           Sequence sequence, std::span<const double> weights) {
  check(weights.empty() || static_cast<int>(weights.size()) == group.size(),
        "an average needs one weight for each member");
  const double divisor = weights.empty() ? group.size() : 1;
  if (tensor.numel() == 0 || (group.size() == 1 && (weights.empty() || weights.front() == 1)))
    return nothing(endpoint);
  if (GroupReduce* const native = native_for(endpoint, group, tensor))
    return in_memory(endpoint, *native, group, tensor, sequence, weights, divisor);
  if (is_plain_pair(group, tensor, weights)) return as_pair(endpoint, group, tensor, sequence);
  const at::Tensor sum = buffer(sum_, tensor);
  const bool keeps_errors = carries_errors();
  const Losses losses{keeps_errors ? buffer(errors_, tensor).zero_() : at::Tensor()};
  contribute(sum, tensor, own_weight(endpoint, group, weights));
  const Exchange exchange = over_messages(endpoint, group, tensor, sequence, sum, losses);
  // Each member takes back what it has taken from all.
  if (keeps_errors)
    commit_with_errors(tensor, sum, losses.errors, divisor, group.size() / divisor);
  else
    commit(tensor, sum, divisor);
  return exchange;
}

bool Averager::is_plain_pair(const Group& group, const at::Tensor& tensor,
                             std::span<const double> weights) const {
  return weights.empty() && format_of(tensor) == WireFormat::full &&
         algorithm_for(group, tensor) == Algorithm::pair;
}

// What this member gives is copied, because its peer may still be reading it when this one has
// given up and gone on; the mean lands in the tensor itself, which is as it was again if not all
// comes.
Exchange Averager::as_pair(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                           Sequence sequence) {
  const at::Tensor given = buffer(sum_, tensor);
  contribute(given, tensor, 1);
  try {
    return over_messages(endpoint, group, tensor, sequence, given, {}, tensor);
  } catch (...) {
    contribute(tensor, given, 1);
    throw;
  }
}

Exchange Averager::average_with_residuals(Endpoint& endpoint, const Group& group,
                                          const at::Tensor& tensor, Sequence sequence,
                                          const at::Tensor& residuals,
                                          std::span<const double> weights) {
  if (tensor.numel() == 0 || group.size() == 1) return nothing(endpoint);
  const at::Tensor sum = buffer(sum_, tensor);
  // Weighted or not, residuals are in units of the sum, so that they fit the next group, too.
  const double weight = weights.empty() ? 1 : group.size() * own_weight(endpoint, group, weights);
  contribute(sum, tensor, weight);
  const Exchange exchange = with_residuals(endpoint, group, tensor, sequence, sum, residuals);
  commit(tensor, sum, group.size());
  return exchange;
}

double Averager::own_weight(const Endpoint& endpoint, const Group& group,
                            std::span<const double> weights) const {
  if (weights.empty()) return 1;
  return weights[static_cast<std::size_t>(group.position_of(endpoint.self()))];
}

Exchange Averager::with_residuals(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                                  Sequence sequence, const at::Tensor& sum,
                                  const at::Tensor& residuals) {
  sum.add_(residuals);
  residuals.zero_();
  try {
    return over_messages(endpoint, group, tensor, sequence, sum, {residuals});
  } catch (...) {
    residuals.zero_();
    throw;
  }
}

Exchange Averager::form_mean(Endpoint& endpoint, const Group& group, const at::Tensor& sent,
                             Sequence sequence, const at::Tensor& mean,
                             const at::Tensor& residuals) {
  check(mean.scalar_type() == sum_type(sent.scalar_type()), "a mean of another type than its sum");
  contribute(mean, sent, 1);
  if (sent.numel() == 0 || group.size() == 1) return nothing(endpoint);
  GroupReduce* const native = native_for(endpoint, group, sent);
  if (native != nullptr && mean.scalar_type() == sent.scalar_type())
    return in_memory(endpoint, *native, group, mean, sequence, {}, group.size());
  // Numbers of bfloat16 are too coarse to hold what they lose.
  const bool keeps_errors = carries_errors() && mean.scalar_type() == sent.scalar_type();
  const Losses losses{keeps_errors ? sent : at::Tensor(), -1};
  const Exchange exchange = residuals.defined()
                                ? with_residuals(endpoint, group, sent, sequence, mean, residuals)
                                : over_messages(endpoint, group, sent, sequence, mean, losses);
  divide(mean, group.size());
  return exchange;
}

Exchange Averager::over_messages(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                                 Sequence sequence, const at::Tensor& sum, const Losses& losses,
                                 const at::Tensor& mean) {
  const Prepared& prepared = prepare(group, endpoint.self(), tensor, nullptr);
  try {
    return execute(endpoint, group, tag(sequence), prepared.compiled, sum,
                   {format_of(tensor), losses}, mean, scratch_, how_.deadline);
  } catch (...) {
    sum_.reset();  // Peers may still be reading them.
    scratch_.clear();
    throw;
  }
}

// `kept`, for numbers like those of a tensor; made anew where it does not fit.
at::Tensor Averager::buffer(at::Tensor& kept, const at::Tensor& like) const {
  const at::ScalarType type = sum_type(like.scalar_type());
  if (!kept.defined() || kept.numel() < like.numel() || kept.scalar_type() != type)
    kept = at::empty({like.numel()}, like.options().dtype(type).requires_grad(false));
  return kept.numel() == like.numel() ? kept : kept.narrow(0, 0, like.numel());
}

Exchange Averager::in_memory(Endpoint& endpoint, GroupReduce& native, const Group& group,
                             const at::Tensor& tensor, Sequence sequence,
                             std::span<const double> weights, double divisor) {
  const Prepared& prepared = prepare(group, endpoint.self(), tensor, &native);
  const std::int64_t elements = tensor.numel();
  const int segments = prepared.segments;
  const std::int64_t largest_segment = (elements + segments - 1) / segments;
  const int pieces = static_cast<int>((largest_segment + kBlockElements - 1) / kBlockElements);
  std::vector<double> each(weights.begin(), weights.end());
  if (each.empty()) each.assign(static_cast<std::size_t>(group.size()), 1.0);
  const auto combine = [&](int block, std::span<at::Tensor> members) {
    const int segment = block / pieces;
    const int piece = block % pieces;
    const std::int64_t begin = elements * segment / segments;
    const std::int64_t size = elements * (segment + 1) / segments - begin;
    const Stretch stretch{begin + size * piece / pieces, begin + size * (piece + 1) / pieces};
    combine_in_order(prepared.trace->orders[static_cast<std::size_t>(segment)], members, each,
                     divisor, stretch, block_buffers_);
  };
  Exchange exchange;
  exchange.begin = endpoint.now();
  exchange.first_bytes =
      native.reduce(group, tag(sequence), tensor, segments * pieces, combine, how_.deadline);
  exchange.end = endpoint.now();
  // What the algorithm would have sent: reports compare strategies, not engines.
  exchange.bytes_sent = wire_bytes(format_of(tensor), sum_type(tensor.scalar_type()),
                                   prepared.compiled.elements_sent);
  exchange.messages_sent = prepared.compiled.messages_sent;
  return exchange;
}

}  // namespace huddle
