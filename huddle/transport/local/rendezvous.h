// A rendezvous of a group in one another's memory: who is there, and which blocks are left to
// combine. What happens at it is Hub::meet.

#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <exception>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

// Guarded by the hub's lock, but for the counters.
struct Rendezvous {
  std::vector<at::Tensor> tensors;
  int arrived = 0;
  int blocks = 0;
  Time everybody_at = 0;
  std::exception_ptr error;
  std::atomic<int> next_block{0};
  std::atomic<int> blocks_done{0};
};

}  // namespace huddle
