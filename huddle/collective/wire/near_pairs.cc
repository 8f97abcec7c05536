#include "huddle/collective/wire/near_pairs.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/collective/wait_all.h"
#include "huddle/collective/wire/wire_format.h"

namespace huddle {
namespace {

// Smaller bounds are those of numbers that hardly differ: no step could be counted in them.
constexpr double kSmallestBound = 1e-30;

// Added to a number, it leaves the nearest integer in the low bits of the sum, as two's complement.
constexpr double kShift = 3 * 2251799813685248.;  // 1.5 * 2^52

// Each number counts in a measure of its own, so that errors of several hardly ever cancel out.
std::uint32_t measure(std::int64_t i) {
  std::uint32_t mixed = static_cast<std::uint32_t>(i + 1) * 2654435761u;
  mixed = (mixed ^ (mixed >> 15)) * 2246822519u;
  return (mixed ^ (mixed >> 13)) | 1u;
}

double step_of(double bound) { return 2 * bound / 255; }

std::int64_t bytes_of(double bound, std::int64_t elements) {
  return bound > 0 ? elements + static_cast<std::int64_t>(sizeof(std::uint32_t)) : 2 * elements;
}

// What one block needs to travel. Its message: the checksum and a byte a number, or bfloat16.
template <typename Value>
struct Block {
  Value* values;
  std::int64_t size;
  double bound;

  void encode(std::byte* to) const { bound > 0 ? encode_steps(to) : encode_bf16(to); }

  // Moves the values by `share` of the way to the partner's and returns the next bound.
  double merge(const std::byte* own, const std::byte* theirs, double share) const {
    const double next =
        bound > 0 ? merge_steps(own, theirs, share) : merge_bf16(own, theirs, share);
    return next > kSmallestBound && std::isfinite(next) ? next : 0;
  }

 private:
  void encode_steps(std::byte* to) const {
    const double steps_per_unit = 1 / step_of(bound);
    std::uint32_t checksum = 0;
    auto* const __restrict low = reinterpret_cast<std::uint8_t*>(to + sizeof checksum);
    const Value* const __restrict x = values;
    bool is_finite = true;
    for (std::int64_t i = 0; i < size; ++i) {
      is_finite &= std::isfinite(static_cast<double>(x[i]));
      const double shifted = static_cast<double>(x[i]) * steps_per_unit + kShift;
      const auto steps = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(shifted));
      low[i] = static_cast<std::uint8_t>(steps);
      checksum += steps * measure(i);
    }
    if (!is_finite) checksum = ~checksum;  // Which holds for nobody: the block travels whole.
    std::memcpy(to, &checksum, sizeof checksum);
  }

  double merge_steps(const std::byte* own, const std::byte* theirs, double share) const {
    std::uint32_t own_sum = 0;
    std::uint32_t their_sum = 0;
    std::memcpy(&own_sum, own, sizeof own_sum);
    std::memcpy(&their_sum, theirs, sizeof their_sum);
    const auto* const mine = reinterpret_cast<const std::uint8_t*>(own + sizeof own_sum);
    const auto* const other = reinterpret_cast<const std::uint8_t*>(theirs + sizeof own_sum);
    int largest = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const int apart = static_cast<std::int8_t>(other[i] - mine[i]);
      own_sum += static_cast<std::uint32_t>(apart) * measure(i);
      largest = std::max(largest, std::abs(apart));
    }
    if (own_sum != their_sum || largest == 128) return 0;
    const double move = share * step_of(bound);
    for (std::int64_t i = 0; i < size; ++i) {
      const int apart = static_cast<std::int8_t>(other[i] - mine[i]);
      values[i] = static_cast<Value>(static_cast<double>(values[i]) + move * apart);
    }
    return 2 * step_of(bound) * largest;
  }

  void encode_bf16(std::byte* to) const {
    for (std::int64_t i = 0; i < size; ++i) {
      const c10::BFloat16 rounded(static_cast<float>(values[i]));
      std::memcpy(to + 2 * i, &rounded, sizeof rounded);
    }
  }

  double merge_bf16(const std::byte* own, const std::byte* theirs, double share) const {
    double largest = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      c10::BFloat16 mine;
      c10::BFloat16 other;
      std::memcpy(&mine, own + 2 * i, sizeof mine);
      std::memcpy(&other, theirs + 2 * i, sizeof other);
      const double apart = static_cast<double>(static_cast<float>(other)) -
                           static_cast<double>(static_cast<float>(mine));
      values[i] = static_cast<Value>(static_cast<double>(values[i]) + share * apart);
      largest = std::max(largest, std::abs(apart));
    }
    return 2 * largest;
  }
};

// Calls run(block, place in the message) for each block of the tensor, with its bound.
template <typename Run>
void for_blocks_of(const at::Tensor& tensor, std::span<const double> bounds, Run&& run) {
  const auto go = [&]<typename Value>(Value* values) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * kInt8Block;
      const std::int64_t size = std::min(kInt8Block, tensor.numel() - begin);
      run(i, Block<Value>{values + begin, size, bounds[i]}, place);
      place += bytes_of(bounds[i], size);
    }
  };
  void* const data = tensor.mutable_data_ptr();
  if (tensor.scalar_type() == at::kFloat) return go(static_cast<float*>(data));
  if (tensor.scalar_type() == at::kDouble) return go(static_cast<double*>(data));
  check(tensor.scalar_type() == at::kBFloat16, "a type that is not averaged");
  go(static_cast<c10::BFloat16*>(data));
}

std::int64_t message_bytes(std::span<const double> bounds, std::int64_t elements) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    bytes += bytes_of(bounds[i],
                      std::min(kInt8Block, elements - static_cast<std::int64_t>(i) * kInt8Block));
  return bytes;
}

at::Tensor fitting(at::Tensor& kept, std::int64_t bytes, const at::Tensor& like) {
  if (!kept.defined() || kept.numel() < bytes)
    kept = at::empty({bytes}, like.options().dtype(at::kByte).requires_grad(false));
  return kept.narrow(0, 0, bytes);
}

}  // namespace

Exchange NearPairs::average(Endpoint& endpoint, const Group& pair, const at::Tensor& tensor,
                            Sequence sequence, int part, std::span<const double> weights) {
  check(tensor.dim() == 1 && tensor.is_contiguous(), "only flat tensors are averaged");
  check(pair.size() <= 2, "only pairs are near");
  if (tensor.numel() == 0 || pair.size() == 1) {
    const Time now = endpoint.now();
    return {now, now, now};
  }
  const int other = 1 - pair.position_of(endpoint.self());
  const double share = weights.empty() ? 0.5 : weights[static_cast<std::size_t>(other)];
  const auto blocks = static_cast<std::size_t>((tensor.numel() + kInt8Block - 1) / kInt8Block);
  Bounds& bounds = bounds_[{pair[other].value, part}];
  // What has no numbers is timed as it is most of the time.
  if (bounds.empty()) bounds.assign(blocks, tensor.is_meta() ? 1 : 0);
  check(bounds.size() == blocks, "a part of another size than at the last meeting");

  const std::int64_t bytes = message_bytes(bounds, tensor.numel());
  const at::Tensor outgoing = fitting(outgoing_, bytes, tensor);
  const at::Tensor incoming = fitting(incoming_, bytes, tensor);
  if (!tensor.is_meta())
    for_blocks_of(tensor, bounds, [&](std::size_t, const auto& block, std::int64_t place) {
      block.encode(static_cast<std::byte*>(outgoing.mutable_data_ptr()) + place);
    });
  const Exchange exchange = swap(endpoint, pair, sequence, outgoing, incoming);
  if (tensor.is_meta()) return exchange;
  Bounds next = bounds;
  for_blocks_of(tensor, bounds, [&](std::size_t i, const auto& block, std::int64_t place) {
    next[i] = block.merge(static_cast<const std::byte*>(outgoing.const_data_ptr()) + place,
                          static_cast<const std::byte*>(incoming.const_data_ptr()) + place, share);
  });
  bounds = std::move(next);
  return exchange;
}

Exchange NearPairs::swap(Endpoint& endpoint, const Group& pair, Sequence sequence,
                         const at::Tensor& outgoing, const at::Tensor& incoming) {
  const WorkerId peer = pair[1 - pair.position_of(endpoint.self())];
  const Tag tag{Kind::payload, Purpose::average, lane_, sequence};
  Exchange exchange{.begin = endpoint.now(), .bytes_sent = outgoing.numel(), .messages_sent = 1};
  try {
    Pending losses = endpoint.watch(pair);
    Pending send = endpoint.send(peer, tag, outgoing);
    Pending receive = endpoint.receive(peer, tag, incoming);
    const std::array<Pending*, 2> awaited{&losses, &receive};
    if (wait_any(awaited, deadline_) == 0) losses.wait(deadline_);  // Throws.
    exchange.first_bytes = std::max(exchange.begin, receive.first_bytes());
    receive.wait(deadline_);
    wait_all(endpoint, pair, {&send, 1}, deadline_);
  } catch (...) {
    outgoing_.reset();  // The peer may still be reading it.
    incoming_.reset();
    throw;
  }
  exchange.end = endpoint.now();
  return exchange;
}

std::map<std::string, at::Tensor> NearPairs::tensors() const {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [key, bounds] : bounds_) {
    at::Tensor& tensor = tensors[concat("near_", key.first, "_", key.second)];
    tensor = at::empty({std::ssize(bounds)}, at::kDouble);
    std::copy(bounds.begin(), bounds.end(), tensor.mutable_data_ptr<double>());
  }
  return tensors;
}

void NearPairs::load(const std::map<std::string, at::Tensor>& tensors) {
  for (const auto& [name, saved] : tensors) {
    int peer = 0;
    int part = 0;
    if (std::sscanf(name.c_str(), "near_%d_%d", &peer, &part) != 2) continue;
    const double* const first = saved.const_data_ptr<double>();
    bounds_[{peer, part}].assign(first, first + saved.numel());
  }
}

}  // namespace huddle
