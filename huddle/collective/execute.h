// Executes a compiled plan over messages: does whatever is possible next, so that receiving, adding
// and sending of different pieces overlap.

#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "huddle/collective/compiled_plan.h"
#include "huddle/collective/wire/wire_format.h"
#include "huddle/record/meter.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Buffers for messages that wait to be added; kept from one execution to the next.
using Scratch = std::vector<at::Tensor>;

// In which format messages travel, and where the errors of rounding to it go.
struct WireTerms {
  WireFormat format = WireFormat::full;
  Losses losses = {};
};

// Runs the plan on `values`, in place. With `mean`, which only the plan of a pair may have,
// `values` stay as they are, and the mean of both members forms there instead: piece by piece, so
// that nobody goes through all of it once more. On failure `values` and `scratch` may still be read
// by peers: drop them. Every wait is bounded by `deadline`.
Exchange execute(Endpoint& endpoint, const Group& group, Tag tag, const CompiledPlan& compiled,
                 const at::Tensor& values, const WireTerms& wire, const at::Tensor& mean,
                 Scratch& scratch, Deadline deadline);

}  // namespace huddle
