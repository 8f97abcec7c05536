// The arithmetic of boundaries, each method in one pass over flat memory.
//
// A boundary touches whole models, and memory is what that costs: with one pass each value is read
// and written once, where a tensor operation for every sign of the formula would do so many times.
// All tensors are 1-D, contiguous, of one size and type, and do not overlap. bfloat16 is computed
// in float32. Meta tensors have no numbers: everything here returns at once for them.

#pragma once

#include <ATen/core/Tensor.h>

#include "huddle/strategy/local_sgd/composition.h"

namespace huddle {

struct PullBack {
  double alpha = 0.5;
  double momentum = 0;  // Rescaled already.
};

// Overlap-Local-SGD, with z in `anchor`. The anchor's last move, z - previous, is its momentum:
//   x <- x + alpha (z - x);  anchor <- x + momentum (z - previous), the new proposal;  previous <-
//   z
// Without momentum `previous` is not used and may be undefined.
void pull_back(const PullBack& how, const at::Tensor& x, const at::Tensor& anchor,
               const at::Tensor& previous);

// Symmetric elastic averaging among `workers`, all from old values:
//   x <- x + alpha (z - x);  anchor <- z + workers alpha (x - z)
// The mean of everybody's `anchor` is z moved by alpha (x_i - z) for each i.
void pull_elastically(const at::Tensor& x, const at::Tensor& anchor, double alpha, int workers);

// How the common model takes a step by D.
struct OuterStep {
  Outer outer = Outer::none;
  double rate = 1;
  double momentum = 0;  // Rescaled already.
};

// D is the workers' mean delta in `delta`, or, where that is undefined, the way from the workers'
// mean model in x to the common one:
//   velocity <- momentum velocity + D;  common moves against D or velocity, as `step` says;
//   x <- common
// Without an outer optimizer `velocity` is not used and may be undefined.
void outer_step(const OuterStep& step, const at::Tensor& x, const at::Tensor& common,
                const at::Tensor& velocity, const at::Tensor& delta);

}  // namespace huddle
