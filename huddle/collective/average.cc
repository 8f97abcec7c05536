#include "huddle/collective/average.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// How many groups' plans are kept. Periodic schedules need a handful; random ones would fill
// memory.
constexpr std::size_t kPlansKept = 256;

// A block of the shared-memory path: what one member combines before it looks for the next. Large
// enough that looking costs nothing, small enough that a slow member holds nobody up.
constexpr std::int64_t kBlockElements = 32 * 1024;

at::ScalarType wire_type(const Averaging& how, const at::Tensor& tensor) {
  return how.wire == WireFormat::bf16 ? at::kBFloat16 : sum_type(tensor.scalar_type());
}

Algorithm algorithm_for(const Averaging& how, const Group& group, const at::Tensor& tensor) {
  return choose(
      how.algorithm, group.size(),
      static_cast<std::int64_t>(static_cast<double>(tensor.nbytes()) * how.payload_scale));
}

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

}  // namespace

const Averager::Prepared& Averager::prepare(const Group& group, WorkerId self,
                                            const at::Tensor& tensor, GroupReduce* native) {
  const Key key{group, tensor.numel(), tensor.scalar_type(), native != nullptr};
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return found->second;
  if (prepared_.size() >= kPlansKept) prepared_.clear();
  const Algorithm algorithm = algorithm_for(how_, group, tensor);
  const Racks racks = racks_for(how_, group);
  const Plan plan = make_plan(algorithm, group.position_of(self), racks, how_.overlap);
  const std::int64_t element_bytes =
      static_cast<std::int64_t>(c10::elementSize(wire_type(how_, tensor)));
  const std::int64_t message_elements =
      std::max<std::int64_t>(1, how_.message_bytes / element_bytes);
  Prepared prepared{
      plan.segments,
      compile(plan, tensor.numel(), message_elements, how_.overlap, how_.payload_scale),
      {}};
  if (native != nullptr) {
    prepared.compiled = prepared.compiled.without_messages();
    prepared.trace = shared_trace(*native, algorithm, racks, how_.overlap);
  }
  return prepared_[key] = std::move(prepared);
}

Averaging whole_messages_if_virtual(Averaging how, const Endpoint& endpoint) {
  if (endpoint.is_virtual()) how.message_bytes = std::numeric_limits<std::int64_t>::max() / 2;
  return how;
}

Exchange Averager::average(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                           Sequence sequence, std::span<const double> weights) {
  check(tensor.dim() == 1 && tensor.is_contiguous(), "only flat tensors are averaged");
  check(weights.empty() || static_cast<int>(weights.size()) == group.size(),
        "an average needs one weight for each member");
  std::vector<double> each(weights.begin(), weights.end());
  const double divisor = each.empty() ? group.size() : 1;
  if (each.empty()) each.assign(static_cast<std::size_t>(group.size()), 1.0);
  if (tensor.numel() == 0 || (group.size() == 1 && each.front() == 1)) {
    const Time now = endpoint.now();
    return {now, now, now};
  }
  // In one another's memory nothing is rounded on its way; where it is to be, messages do it.
  GroupReduce* const native =
      tensor.is_cpu() && how_.wire == WireFormat::full ? endpoint.native() : nullptr;
  const Prepared& prepared = prepare(group, endpoint.self(), tensor, native);
  const Tag tag{Kind::payload, Purpose::average, lane_, sequence};
  if (native != nullptr)
    return in_memory(endpoint, *native, group, tensor, tag, prepared, each, divisor);
  return over_messages(endpoint, group, tensor, tag, prepared, each, divisor);
}

Exchange Averager::over_messages(Endpoint& endpoint, const Group& group, const at::Tensor& tensor,
                                 Tag tag, const Prepared& prepared, std::span<const double> weights,
                                 double divisor) {
  const at::ScalarType type = sum_type(tensor.scalar_type());
  const bool rounds = how_.wire != WireFormat::full;
  const bool keeps_errors = rounds && how_.rounding == Rounding::kept;
  if (!sum_.defined() || sum_.numel() < tensor.numel() || sum_.scalar_type() != type) {
    const auto like = tensor.options().dtype(type).requires_grad(false);
    sum_ = at::empty({tensor.numel()}, like);
    errors_ = keeps_errors ? at::empty({tensor.numel()}, like) : at::Tensor();
    scratch_.clear();
  }
  const at::Tensor sum = sum_.narrow(0, 0, tensor.numel());
  const WireTerms wire{wire_type(how_, tensor),
                       keeps_errors ? errors_.narrow(0, 0, tensor.numel()) : at::Tensor()};
  const double weight = weights[static_cast<std::size_t>(group.position_of(endpoint.self()))];
  if (rounds)
    contribute_rounded(sum, wire.errors, tensor, weight);
  else
    contribute(sum, tensor, weight);
  try {
    const Exchange exchange =
        execute(endpoint, group, tag, prepared.compiled, sum, wire, scratch_, how_.deadline);
    if (keeps_errors)
      commit_with_errors(tensor, sum, wire.errors, divisor);
    else
      commit(tensor, sum, divisor);
    return exchange;
  } catch (...) {
    sum_.reset();  // Peers may still be reading them.
    scratch_.clear();
    throw;
  }
}

Exchange Averager::in_memory(Endpoint& endpoint, GroupReduce& native, const Group& group,
                             const at::Tensor& tensor, Tag tag, const Prepared& prepared,
                             std::span<const double> weights, double divisor) {
  const std::int64_t elements = tensor.numel();
  const int segments = prepared.segments;
  const std::int64_t largest_segment = (elements + segments - 1) / segments;
  const int pieces = static_cast<int>((largest_segment + kBlockElements - 1) / kBlockElements);
  const auto combine = [&](int block, std::span<at::Tensor> members) {
    const int segment = block / pieces;
    const int piece = block % pieces;
    const std::int64_t begin = elements * segment / segments;
    const std::int64_t size = elements * (segment + 1) / segments - begin;
    const Stretch stretch{begin + size * piece / pieces, begin + size * (piece + 1) / pieces};
    combine_in_order(prepared.trace->orders[static_cast<std::size_t>(segment)], members, weights,
                     divisor, stretch, block_buffers_);
  };
  Exchange exchange;
  exchange.begin = endpoint.now();
  exchange.first_bytes =
      native.reduce(group, tag, tensor, segments * pieces, combine, how_.deadline);
  exchange.end = endpoint.now();
  // What the algorithm would have sent: reports compare strategies, not engines.
  exchange.bytes_sent = prepared.compiled.elements_sent *
                        static_cast<std::int64_t>(c10::elementSize(wire_type(how_, tensor)));
  exchange.messages_sent = prepared.compiled.messages_sent;
  return exchange;
}

}  // namespace huddle
