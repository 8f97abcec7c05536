// How many bytes count on the network for each byte of payload: a small model may stand for a large
// one. Copies share the number, so that it can be told when the model is known, which is after the
// engine was made.

#pragma once

#include <atomic>
#include <memory>

namespace huddle {

class PayloadScale {
 public:
  PayloadScale(double scale = 1) : scale_(std::make_shared<std::atomic<double>>(scale)) {}
  operator double() const { return *scale_; }

  // For all messages that are sent from now on. Any thread may call it.
  void set(double scale) const { *scale_ = scale; }

 private:
  std::shared_ptr<std::atomic<double>> scale_;
};

}  // namespace huddle
