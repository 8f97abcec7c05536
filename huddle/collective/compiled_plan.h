// One member's plan, compiled for a number of elements: actions become messages of at most a given
// size, and each learns which earlier messages it has to wait for.
//
// Compact, because every worker of a simulated cluster keeps its own: tens of bytes a message.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "huddle/collective/plan.h"

namespace huddle {

struct Message {
  Action::Verb verb = Action::Verb::send;
  int peer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int waits_for = 0;  // How many earlier messages must have ended.
  int queue = 0;
  bool comes_early = false;  // It may be on its way here before those have ended.

  std::int64_t size() const { return end - begin; }
};

// Ready to run on tensors of one size.
struct CompiledPlan {
  std::vector<Message> messages;

  // All messages with one peer in one direction, by number: they start and end in this order.
  std::vector<std::vector<int>> queues;

  // Which later messages wait for message number `message`.
  std::span<const int> wakes(int message) const {
    const auto first = static_cast<std::size_t>(first_woken[static_cast<std::size_t>(message)]);
    const auto last = static_cast<std::size_t>(first_woken[static_cast<std::size_t>(message) + 1]);
    return std::span(woken).subspan(first, last - first);
  }
  std::vector<int> woken;        // Those of all messages, one after another.
  std::vector<int> first_woken;  // By message, and the end.

  std::int64_t largest_message = 0;  // Elements.
  std::int64_t elements_sent = 0;
  std::int64_t messages_sent = 0;
  bool is_cut_to_travel = false;  // Many of its messages with one peer are meant to be under way.

  // What it would send, for those who send nothing.
  CompiledPlan without_messages() const {
    return {.largest_message = largest_message,
            .elements_sent = elements_sent,
            .messages_sent = messages_sent,
            .is_cut_to_travel = is_cut_to_travel};
  }
};

// How messages may be cut.
struct Cuts {
  std::int64_t message_elements = 0;  // Of the largest.
  std::int64_t unit = 1;              // At multiples of it.
  double payload_scale = 1;           // Bytes on the wire for each byte: how finely it pays to cut.
};

CompiledPlan compile(const Plan& plan, std::int64_t elements, const Cuts& cuts, Overlap overlap);

}  // namespace huddle
