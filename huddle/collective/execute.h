// Executes a plan over messages.
//
// A plan is first compiled for a number of elements: actions become messages of at most a given
// size, and each learns which earlier messages it has to wait for. The execution then does whatever
// is possible next, so that receiving, adding and sending of different pieces overlap.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "huddle/collective/plan.h"
#include "huddle/core/meter.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

struct Message {
  Action::Verb verb = Action::Verb::send;
  int peer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int waits_for = 0;       // How many earlier messages must have ended.
  std::vector<int> wakes;  // Which later messages wait for this one.
};

// One member's plan, ready to run on tensors of one size.
struct Program {
  std::vector<Message> messages;
  std::int64_t largest_message = 0;  // Elements.
  std::int64_t elements_sent = 0;
  std::int64_t messages_sent = 0;
};

// `payload_scale`: bytes on the wire for each byte, which decides how finely it pays to cut.
Program compile(const Plan& plan, std::int64_t elements, std::int64_t message_elements,
                Overlap overlap, double payload_scale = 1);

// Buffers for messages that wait to be added; kept from one execution to the next.
using Scratch = std::vector<at::Tensor>;

// Runs the program on `values`, in place. On failure `values` and `scratch` may still be read by
// peers: drop them. Every wait is bounded by `deadline`.
Exchange execute(Endpoint& endpoint, const Group& group, Tag tag, const Program& program,
                 const at::Tensor& values, Scratch& scratch, Deadline deadline);

}  // namespace huddle
