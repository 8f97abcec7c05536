// What the workers of the conformance tests say to one another, and how they judge what happens to
// them.

#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// Every wait that should end uses kDeadline, so that a bug is an error and not a hang. Waits that
// nothing can end use kBrief.
inline constexpr Deadline kDeadline{20};
inline constexpr Deadline kBrief{0.03};

// What workers hand out of a run, to be read after it. An engine may run only some of the workers
// in this process, so tests judge inside the bodies where they can, and here only what is there.
template <typename T>
class Notes {
 public:
  void add(T note) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(note));
  }
  const std::vector<T>& all() const { return notes_; }

 private:
  std::mutex mutex_;
  std::vector<T> notes_;
};

// The tag of an ordinary message.
constexpr Tag numbered(std::uint32_t sequence) {
  return {Kind::payload, Purpose::message, kMainLane, {sequence}};
}

inline constexpr Tag kTag = numbered(1);
inline constexpr Tag kNever = numbered(2);  // Nobody sends with this one.

// A tag for receive_any.
constexpr Tag request(std::uint32_t sequence) {
  return {Kind::control, Purpose::request, kMainLane, {sequence}};
}

constexpr Tag in_lane(Lane lane, Tag tag) {
  tag.lane = lane;
  return tag;
}

// A message of one number, and the number in it.
at::Tensor number(double value);
double value_of(const at::Tensor& message);

// A message whose bytes tell which seed made them.
at::Tensor pattern(std::int64_t count, at::ScalarType type, int seed);
bool same_bytes(const at::Tensor& one, const at::Tensor& other);

// Sends a number and lets go of the send, which goes on by itself.
void tell(Endpoint& endpoint, WorkerId to, Tag tag, double value = 0);

// Receives a number.
double hear(Endpoint& endpoint, WorkerId from, Tag tag);
double hear_anybody(Endpoint& endpoint, Tag tag);

// Returns when everybody has called it. Uses a purpose and sequence of its own.
void meet(Endpoint& endpoint);

std::vector<WorkerId> peers_of(const Endpoint& endpoint);
void wait_all(std::vector<Pending>& pendings);

// Passes time until `pending` is ready, or kDeadline.
bool becomes_ready(Endpoint& endpoint, Pending& pending);

void expect_mentions(const std::string& text, const std::vector<std::string>& words);
std::string named(WorkerId worker);  // "worker 3".

// Exactly this worker was lost, for a reason that names it.
void expect_only_loss(const std::vector<Loss>& losses, WorkerId worker);

// Runs `action`, which must throw an E, and returns what it threw. Whatever happens instead is a
// failure of the test and goes on as an exception, so that the worker ends and nobody waits for it
// in vain.
template <typename E, typename Action>
E thrown_by(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error;
  } catch (...) {
    ADD_FAILURE() << "an exception of another type was thrown";
    throw;
  }
  ADD_FAILURE() << "nothing was thrown";
  throw std::logic_error("the test expected an exception");
}

}  // namespace huddle
