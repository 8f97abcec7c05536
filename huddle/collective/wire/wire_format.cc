#include "huddle/collective/wire/wire_format.h"

#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// Calls run(Sum{}) with the C++ type of the sums.
template <typename Run>
void with_sum_type(const at::Tensor& values, Run&& run) {
  if (values.scalar_type() == at::kFloat) return run(float{});
  check(values.scalar_type() == at::kDouble, "sums are float32 or float64");
  run(double{});
}

template <typename Value>
Value* numbers(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<Value*>(tensor.mutable_data_ptr()) : nullptr;
}

// Through float32, whatever the type, so that all types round alike.
template <typename Sum>
c10::BFloat16 to_bf16(Sum value) {
  return c10::BFloat16(static_cast<float>(value));
}

template <typename Sum>
void encode_bf16(c10::BFloat16* __restrict message, Sum* __restrict values, Sum* __restrict errors,
                 Sum sign, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    message[i] = to_bf16(values[i]);
    const Sum rounded = static_cast<Sum>(static_cast<float>(message[i]));
    if (errors != nullptr) errors[i] += sign * (values[i] - rounded);
    values[i] = rounded;
  }
}

// Adding and taking away 1.5 * 2^(digits of the mantissa) rounds to the nearest integer, ties to
// even, in two instructions that the compiler can vectorise.
template <typename Sum>
Sum rounded_to_integer(Sum value) {
  constexpr Sum shift = Sum{3} * (std::uint64_t{1} << (std::numeric_limits<Sum>::digits - 2));
  return (value + shift) - shift;
}

// 0 for a block of (almost) nothing, NaN for one that is not finite.
template <typename Sum>
float scale_of(const Sum* __restrict values, std::int64_t size) {
  Sum largest = 0;
  bool is_finite = true;
  for (std::int64_t i = 0; i < size; ++i) {
    const Sum amount = std::abs(values[i]);
    largest = amount > largest ? amount : largest;
    is_finite &= amount <= std::numeric_limits<float>::max();
  }
  if (!is_finite) return std::numeric_limits<float>::quiet_NaN();
  const float scale = static_cast<float>(largest / 127);
  return scale < std::numeric_limits<float>::min() ? 0 : scale;
}

template <typename Sum>
void encode_block(std::int8_t* __restrict message, float scale, Sum* __restrict values,
                  Sum* __restrict errors, Sum sign, std::int64_t size) {
  const bool has_numbers = scale > 0;
  const bool keeps_errors = errors != nullptr && !std::isnan(scale);  // Or they would stay NaN.
  const Sum divisor = has_numbers ? static_cast<Sum>(scale) : Sum{1};
  for (std::int64_t i = 0; i < size; ++i) {
    const Sum steps = has_numbers ? rounded_to_integer(values[i] / divisor) : Sum{0};
    const Sum rounded = steps * static_cast<Sum>(scale);
    message[i] = static_cast<std::int8_t>(steps);
    if (keeps_errors) errors[i] += sign * (values[i] - rounded);
    values[i] = rounded;
  }
}

// A message begins with its blocks' scales; their numbers follow.
struct Int8Message {
  std::byte* scales;
  std::int8_t* steps;

  Int8Message(const at::Tensor& message, std::int64_t elements)
      : scales(numbers<std::byte>(message)),
        steps(numbers<std::int8_t>(message) + wire_size(WireFormat::int8, elements) - elements) {}

  float scale(std::int64_t block) const {
    float scale = 0;
    std::memcpy(&scale, scales + block * static_cast<std::int64_t>(sizeof scale), sizeof scale);
    return scale;
  }
  void set_scale(std::int64_t block, float scale) const {
    std::memcpy(scales + block * static_cast<std::int64_t>(sizeof scale), &scale, sizeof scale);
  }
};

// Calls run(block, first element, elements).
template <typename Run>
void for_blocks(std::int64_t elements, Run&& run) {
  for (std::int64_t begin = 0; begin < elements; begin += kInt8Block)
    run(begin / kInt8Block, begin, std::min(kInt8Block, elements - begin));
}

// values[i] = take(values[i], what arrived).
template <typename Take>
void decode_int8(const at::Tensor& message, const at::Tensor& values, Take&& take) {
  const Int8Message from(message, values.numel());
  with_sum_type(values, [&]<typename Sum>(Sum) {
    for_blocks(values.numel(), [&](std::int64_t block, std::int64_t begin, std::int64_t size) {
      const Sum scale = static_cast<Sum>(from.scale(block));
      const std::int8_t* const __restrict steps = from.steps + begin;
      Sum* const __restrict to = numbers<Sum>(values) + begin;
      for (std::int64_t i = 0; i < size; ++i)
        to[i] = take(to[i], static_cast<Sum>(steps[i]) * scale);
    });
  });
}

}  // namespace

at::ScalarType wire_type(WireFormat format, at::ScalarType sum_type) {
  return format == WireFormat::full   ? sum_type
         : format == WireFormat::bf16 ? at::kBFloat16
                                      : at::kByte;
}

std::int64_t wire_size(WireFormat format, std::int64_t elements) {
  if (format != WireFormat::int8) return elements;
  const std::int64_t blocks = (elements + kInt8Block - 1) / kInt8Block;
  return elements + blocks * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t wire_bytes(WireFormat format, at::ScalarType sum_type, std::int64_t elements) {
  return wire_size(format, elements) *
         static_cast<std::int64_t>(c10::elementSize(wire_type(format, sum_type)));
}

void encode(WireFormat format, const at::Tensor& message, const at::Tensor& values,
            const Losses& losses) {
  const std::int64_t elements = values.numel();
  with_sum_type(values, [&]<typename Sum>(Sum) {
    Sum* const own = numbers<Sum>(values);
    Sum* const lost = numbers<Sum>(losses.errors);
    const Sum sign = static_cast<Sum>(losses.sign);
    if (format == WireFormat::bf16)
      return encode_bf16(numbers<c10::BFloat16>(message), own, lost, sign, elements);
    check(format == WireFormat::int8, "what travels in full is not encoded");
    const Int8Message to(message, elements);
    for_blocks(elements, [&](std::int64_t block, std::int64_t begin, std::int64_t size) {
      const float scale = scale_of(own + begin, size);
      to.set_scale(block, scale);
      encode_block(to.steps + begin, scale, own + begin, lost == nullptr ? lost : lost + begin,
                   sign, size);
    });
  });
}

void add_decoded(WireFormat format, const at::Tensor& values, const at::Tensor& message) {
  if (format == WireFormat::int8)
    decode_int8(message, values, [](auto own, auto arrived) { return own + arrived; });
  else
    values.add_(message);
}

void decode(WireFormat format, const at::Tensor& values, const at::Tensor& message) {
  if (format == WireFormat::int8)
    decode_int8(message, values, [](auto, auto arrived) { return arrived; });
  else
    values.copy_(message);
}

}  // namespace huddle
