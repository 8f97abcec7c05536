#include "huddle/replica/replica.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"

namespace huddle {
namespace {

bool is_flat(const at::Tensor& tensor) {
  return tensor.defined() && tensor.dim() == 1 && tensor.is_contiguous();
}

}  // namespace

Replica::Replica(at::Tensor parameters, at::Tensor gradients, at::Tensor statistics,
                 std::vector<std::int64_t> parameter_sizes,
                 std::shared_ptr<const Optimizer> optimizer, std::vector<Range> variances)
    : parameters_(std::move(parameters)),
      gradients_(std::move(gradients)),
      statistics_(std::move(statistics)),
      variances_(std::move(variances)),
      parameter_sizes_(std::move(parameter_sizes)),
      optimizer_(std::move(optimizer)),
      learning_rate_(rule() != nullptr ? rule()->options().learning_rate : 0) {
  check(is_flat(parameters_), "parameters are not a contiguous 1-D tensor");
  check(is_flat(gradients_), "gradients are not a contiguous 1-D tensor");
  check(is_flat(statistics_), "statistics are not a contiguous 1-D tensor");
  check(parameters_.numel() == gradients_.numel(), "parameters and gradients differ in size");
  check(parameters_.scalar_type() == gradients_.scalar_type(),
        "parameters and gradients differ in type");
  check(std::all_of(parameter_sizes_.begin(), parameter_sizes_.end(),
                    [](std::int64_t size) { return size >= 0; }),
        "a parameter's size is negative");
  check(std::accumulate(parameter_sizes_.begin(), parameter_sizes_.end(), std::int64_t{0}) ==
            parameters_.numel(),
        "the parameters' sizes do not add up to the flat size");
  for (const std::string& name : optimizer_->slot_names())
    slots_.push_back({name, at::zeros_like(parameters_)});
}

void Replica::update(Range range) {
  check(rule() != nullptr || range.size() == parameters_.numel(),
        "only a rule can update a part of the parameters");
  std::vector<at::Tensor> slots;
  for (const Slot& slot : slots_) slots.push_back(part(slot.values, range));
  optimizer_->apply(part(parameters_, range), part(gradients_, range), slots,
                    learning_rate_ * rate_factor_, updates_ + 1);
}

void Replica::clip_gradients(double norm) {
  if (norm <= 0) return;
  // One division, rounded once, as torch has it.
  const at::Tensor present = gradients_.norm().add_(1e-6);
  gradients_.mul_(at::full_like(present, norm).div_(present).clamp_max_(1.0));
}

void Replica::reset_slots() {
  for (const Slot& slot : slots_) slot.values.zero_();
  updates_ = 0;
}

const std::vector<Bucket>& Replica::cut(int buckets) {
  check(buckets >= 1, "cut into fewer than one bucket");
  std::vector<std::int64_t> sizes;  // Without parameters of no elements, which could fill a bucket.
  std::copy_if(parameter_sizes_.begin(), parameter_sizes_.end(), std::back_inserter(sizes),
               [](std::int64_t size) { return size > 0; });
  const int count = static_cast<int>(std::min(static_cast<std::size_t>(buckets), sizes.size()));

  // Each bucket aims at an equal share of what is left, so that one huge parameter does not
  // starve the buckets after it. It takes one more parameter while that brings it nearer to its
  // share and leaves a parameter for every bucket still to come.
  buckets_.clear();
  std::int64_t end = parameters_.numel();
  for (int left = count; left > 0; --left) {
    const double share = static_cast<double>(end) / left;
    std::int64_t begin = end;
    do {
      begin -= sizes.back();
      sizes.pop_back();
    } while (sizes.size() >= static_cast<std::size_t>(left) &&
             static_cast<double>(end - begin) + static_cast<double>(sizes.back()) / 2 <= share);
    buckets_.push_back({.index = count - left, .range = {begin, end}});
    end = begin;
  }
  check(end == 0, "the buckets do not cover the parameters");
  return buckets_;
}

at::Tensor part(const at::Tensor& flat, Range range) {
  check(0 <= range.begin && range.begin <= range.end && range.end <= flat.numel(),
        "a range lies outside its flat tensor");
  return range.size() == flat.numel() ? flat : flat.narrow(0, range.begin, range.size());
}

}  // namespace huddle
