#include "huddle/collective/arithmetic.h"

#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// Sums are formed in tiles that stay in the first-level cache, so that memory is read once and
// written once.
constexpr std::int64_t kTileElements = 2048;

// Calls run(Value{}, Sum{}) with the C++ types that stand for a tensor's values and for their sums.
template <typename Run>
void with_types(at::ScalarType type, Run&& run) {
  if (type == at::kFloat) return run(float{}, float{});
  if (type == at::kDouble) return run(double{}, double{});
  check(type == at::kBFloat16, "a type that is not averaged");
  run(c10::BFloat16{}, float{});
}

template <typename Value>
const Value* read(const at::Tensor& tensor, std::int64_t offset = 0) {
  return static_cast<const Value*>(tensor.const_data_ptr()) + offset;
}

template <typename Value>
Value* write(const at::Tensor& tensor, std::int64_t offset = 0) {
  return static_cast<Value*>(tensor.mutable_data_ptr()) + offset;
}

// One contribution, as the sums see it.
template <typename Value, typename Sum>
struct Term {
  const Value* values = nullptr;
  Sum weight = 1;
  Sum at(std::int64_t i) const { return static_cast<Sum>(values[i]) * weight; }
};

// None of the operands of these loops overlap, and saying so lets the compiler use vector
// instructions.

template <typename Sum, typename Left, typename Right>
void set_to_sum(Sum* __restrict sum, Left left, Right right, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) sum[i] = left.at(i) + right.at(i);
}

template <typename Sum, typename Right>
void add_to(Sum* __restrict sum, Right right, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) sum[i] += right.at(i);
}

// values = sum / divisor. Multiplying by the reciprocal of a power of two gives the same bits in
// less time.
template <typename Value, typename Sum>
void set_to_quotient(Value* __restrict values, const Sum* __restrict sum, Sum divisor,
                     std::int64_t size) {
  int exponent = 0;
  if (std::frexp(divisor, &exponent) == Sum{0.5}) {
    const Sum reciprocal = 1 / divisor;
    for (std::int64_t i = 0; i < size; ++i) values[i] = static_cast<Value>(sum[i] * reciprocal);
  } else {
    for (std::int64_t i = 0; i < size; ++i) values[i] = static_cast<Value>(sum[i] / divisor);
  }
}

// Evaluates a SumOrder over one block. Sums live in buffers, which are handed on from a sum to the
// one that uses it.
template <typename Value, typename Sum>
class Evaluation {
 public:
  Evaluation(std::span<at::Tensor> members, std::span<const double> weights, Stretch stretch,
             BlockBuffers& buffers)
      : members_(members), weights_(weights), stretch_(stretch), buffers_(buffers) {}

  const Sum* run(const SumOrder& order) {
    buffer_of_.assign(order.sums.size(), 0);
    used_ = 0;
    free_.clear();
    if (order.sums.empty()) return only_value();
    for (std::size_t i = 0; i < order.sums.size(); ++i)
      buffer_of_[i] = evaluate(order, order.sums[i]);
    return sum_at(buffer_of_.back());
  }

 private:
  // A group of one has nothing to add, but its member has a weight too.
  const Sum* only_value() {
    Sum* const target = sum_at(take_buffer());
    const Term<Value, Sum> value = leaf(0);
    for (std::int64_t i = 0; i < stretch_.size(); ++i) target[i] = value.at(i);
    return target;
  }

  std::size_t evaluate(const SumOrder& order, const SumOrder::Sum& sum) {
    const bool left_is_leaf = sum.left < order.members;
    const bool right_is_leaf = sum.right < order.members;
    const auto buffer_of = [&](int node) {
      return buffer_of_[static_cast<std::size_t>(node - order.members)];
    };
    if (left_is_leaf && right_is_leaf) {
      const std::size_t target = take_buffer();
      set_to_sum(sum_at(target), leaf(sum.left), leaf(sum.right), stretch_.size());
      return target;
    }
    if (left_is_leaf || right_is_leaf) {
      const std::size_t target = buffer_of(left_is_leaf ? sum.right : sum.left);
      add_to(sum_at(target), leaf(left_is_leaf ? sum.left : sum.right), stretch_.size());
      return target;
    }
    const std::size_t target = buffer_of(sum.left);
    add_to(sum_at(target), Term<Sum, Sum>{sum_at(buffer_of(sum.right))}, stretch_.size());
    free_.push_back(buffer_of(sum.right));
    return target;
  }

  Term<Value, Sum> leaf(int member) const {
    const auto index = static_cast<std::size_t>(member);
    return {read<Value>(members_[index], stretch_.begin), static_cast<Sum>(weights_[index])};
  }

  std::size_t take_buffer() {
    if (!free_.empty()) {
      const std::size_t buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
    if (used_ == buffers_.size()) buffers_.emplace_back();
    const auto bytes = static_cast<std::size_t>(stretch_.size()) * sizeof(Sum);
    if (buffers_[used_].size() < bytes) buffers_[used_].resize(bytes);
    return used_++;
  }

  Sum* sum_at(std::size_t buffer) { return reinterpret_cast<Sum*>(buffers_[buffer].data()); }

  std::span<at::Tensor> members_;
  std::span<const double> weights_;
  Stretch stretch_;
  BlockBuffers& buffers_;
  std::vector<std::size_t> buffer_of_;
  std::vector<std::size_t> free_;
  std::size_t used_ = 0;
};

}  // namespace

at::ScalarType sum_type(at::ScalarType type) {
  if (type == at::kFloat || type == at::kDouble) return type;
  if (type == at::kBFloat16) return at::kFloat;
  throw UsageError(concat("tensors of type ", c10::toString(type),
                          " are not averaged; use float32, float64 or bfloat16."));
}

void contribute(const at::Tensor& sum, const at::Tensor& values, double weight) {
  if (sum.is_meta()) return;
  with_types(values.scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    const Term<Value, Sum> term{read<Value>(values), static_cast<Sum>(weight)};
    Sum* const __restrict target = write<Sum>(sum);
    for (std::int64_t i = 0; i < values.numel(); ++i) target[i] = term.at(i);
  });
}

void commit_with_errors(const at::Tensor& values, const at::Tensor& sum, const at::Tensor& errors,
                        double divisor, double factor) {
  if (sum.is_meta()) return;
  with_types(values.scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    Value* const __restrict target = write<Value>(values);
    const Sum* const __restrict total = read<Sum>(sum);
    const Sum* const __restrict lost = read<Sum>(errors);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      target[i] = static_cast<Value>(total[i] / static_cast<Sum>(divisor) +
                                     static_cast<Sum>(factor) * lost[i]);
  });
}

void commit(const at::Tensor& values, const at::Tensor& sum, double divisor) {
  if (sum.is_meta()) return;
  with_types(values.scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    set_to_quotient(write<Value>(values), read<Sum>(sum), static_cast<Sum>(divisor),
                    values.numel());
  });
}

void set_to_mean(const at::Tensor& values, const at::Tensor& left, const at::Tensor& right) {
  if (values.is_meta()) return;
  with_types(values.scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    Value* const __restrict target = write<Value>(values);
    const Value* const __restrict one = read<Value>(left);
    const Value* const __restrict other = read<Value>(right);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      target[i] = static_cast<Value>((one[i] + other[i]) * Sum{0.5});
  });
}

void divide(const at::Tensor& sum, double divisor) {
  if (sum.is_meta()) return;
  with_types(sum.scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    Value* const values = write<Value>(sum);
    for (std::int64_t i = 0; i < sum.numel(); ++i)
      values[i] = static_cast<Value>(static_cast<Sum>(values[i]) / static_cast<Sum>(divisor));
  });
}

void combine_in_order(const SumOrder& order, std::span<at::Tensor> members,
                      std::span<const double> weights, double divisor, Stretch stretch,
                      BlockBuffers& buffers) {
  if (stretch.size() == 0 || members.front().is_meta()) return;
  with_types(members.front().scalar_type(), [&]<typename Value, typename Sum>(Value, Sum) {
    for (std::int64_t begin = stretch.begin; begin < stretch.end; begin += kTileElements) {
      const Stretch tile{begin, std::min(begin + kTileElements, stretch.end)};
      const Sum* const sum = Evaluation<Value, Sum>(members, weights, tile, buffers).run(order);
      Value* const first = write<Value>(members.front(), tile.begin);
      set_to_quotient(first, sum, static_cast<Sum>(divisor), tile.size());
      for (std::size_t member = 1; member < members.size(); ++member)
        std::copy_n(first, tile.size(), write<Value>(members[member], tile.begin));
    }
  });
}

}  // namespace huddle
