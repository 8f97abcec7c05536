#include "huddle/train/evaluation/swa.h"

#include <ATen/ATen.h>

namespace huddle {

void RunningMean::offer(double progress, const at::Tensor& model) {
  if (when_.start == 0) return;
  const auto next = [&] { return when_.start + 1 + count_ * when_.every; };
  while (next() <= when_.steps && static_cast<double>(next()) <= progress) add(model);
}

void RunningMean::add(const at::Tensor& model) {
  ++count_;
  if (count_ == 1)
    mean_ = model.clone();
  else
    mean_.lerp_(model, 1.0 / static_cast<double>(count_));
}

void RunningMean::save(NamedTensors& state) const {
  if (empty()) return;
  state["swa/mean"] = mean_.clone();
  state["swa/count"] = at::scalar_tensor(count_, at::kLong);
}

void RunningMean::load(const NamedTensors& state) {
  const auto count = state.find("swa/count");
  if (count == state.end()) return;
  count_ = count->second.item<std::int64_t>();
  mean_ = state.at("swa/mean").clone();
}

}  // namespace huddle
