// The few loops over numbers that averaging needs.
//
// One rule makes all paths give the same bits: every contribution is multiplied by its weight and
// rounded, contributions are added in the plan's order, and the sum is divided once. Plain means
// have weight 1 and divide by the number of members; weighted means divide by 1. Multiplying and
// dividing by 1 are exact. bfloat16 is summed in float32.
//
// Tensors are 1-D and contiguous. Meta tensors have no numbers: everything here returns at once for
// them.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "huddle/collective/trace.h"

namespace huddle {

// The type in which tensors of `type` are summed. Throws UsageError for types that are not
// averaged.
at::ScalarType sum_type(at::ScalarType type);

// sum = weight * values.
void contribute(const at::Tensor& sum, const at::Tensor& values, double weight);

// values = sum / divisor, rounded to the values' type.
void commit(const at::Tensor& values, const at::Tensor& sum, double divisor);

// values = (left + right) / 2, all of one type, which is that of its sums.
void set_to_mean(const at::Tensor& values, const at::Tensor& left, const at::Tensor& right);

// sum = sum / divisor.
void divide(const at::Tensor& sum, double divisor);

// values = sum / divisor + factor * errors, rounded to the values' type.
void commit_with_errors(const at::Tensor& values, const at::Tensor& sum, const at::Tensor& errors,
                        double divisor, double factor);

// What combine_in_order needs beside the members' memory; reused from block to block.
using BlockBuffers = std::vector<std::vector<std::byte>>;

// Elements begin..end-1.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

// For the elements of `stretch`: the members' weighted values, summed in `order` and divided,
// written to every member.
void combine_in_order(const SumOrder& order, std::span<at::Tensor> members,
                      std::span<const double> weights, double divisor, Stretch stretch,
                      BlockBuffers& buffers);

}  // namespace huddle
