// The formats in which averages travel.
//
// Sums are formed in the tensors' own type, those of bfloat16 in float32; what is sent is rounded
// to the format, for its sender too, so that all go on with the same numbers. Rounding what is
// rounded already changes nothing.
//
// int8: blocks of kInt8Block elements, each with a scale of its own: q = round(v / s) * s with
// s = max|v| / 127. Blocks are counted from the first element of the tensor, so stretches must
// begin at a block. A block that holds an infinity or NaN becomes NaN.
//
// Tensors are 1-D and contiguous.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace huddle {

enum class WireFormat {
  full,  // The type of the sums.
  bf16,  // bfloat16, rounded to the nearest, ties to even.
  int8,
};

constexpr std::int64_t kInt8Block = 4096;

// In which pieces a tensor may be cut.
inline std::int64_t smallest_cut(WireFormat format) {
  return format == WireFormat::int8 ? kInt8Block : 1;
}

// As what `elements` numbers travel whose sums are of `sum_type`: a tensor of this type and size.
at::ScalarType wire_type(WireFormat format, at::ScalarType sum_type);
std::int64_t wire_size(WireFormat format, std::int64_t elements);
std::int64_t wire_bytes(WireFormat format, at::ScalarType sum_type, std::int64_t elements);

// The same over that of float32 in full, of many elements, whose scales count for nothing.
constexpr double bytes_over_float(WireFormat format) {
  return format == WireFormat::full ? 1 : format == WireFormat::bf16 ? 0.5 : 0.25;
}

// Where the errors of rounding go: errors += sign * (v - q(v)). Undefined: they are forgotten.
struct Losses {
  at::Tensor errors = {};
  double sign = 1;
};

// message = q(values), which the values become as well.
void encode(WireFormat format, const at::Tensor& message, const at::Tensor& values,
            const Losses& losses);

// values += message;  values = message.
void add_decoded(WireFormat format, const at::Tensor& values, const at::Tensor& message);
void decode(WireFormat format, const at::Tensor& values, const at::Tensor& message);

}  // namespace huddle
