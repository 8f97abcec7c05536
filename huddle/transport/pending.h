// One operation under way: a message being sent or received, or a program that runs beside the
// worker.
//
// Waiting here is the only way a worker ever blocks, so every wait has a deadline and an owner.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "huddle/base/ids.h"

namespace huddle {

// What an engine implements. Users hold a Pending.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual bool ready() = 0;
  virtual void wait(Deadline deadline) = 0;
  virtual void cancel() = 0;
  virtual void abandon() = 0;  // Nobody will ask for it any more.
  virtual WorkerId from() const = 0;
  virtual Time first_bytes() const = 0;
  virtual std::size_t wait_any(std::span<Operation* const> operations, Deadline deadline) = 0;
};

// Owned by one worker and used by the thread that made it. Keeps its tensor alive until the
// operation has ended; until then nobody may write to a tensor being sent, nor touch one being
// received into. Default-constructed: nothing under way.
class Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}
  Pending(Pending&& other) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      abandon();
      operation_ = std::move(other.operation_);
    }
    return *this;
  }

  // An unfinished receive is cancelled, an unfinished send goes on by itself, and an unfinished
  // program is ended like by `cancel`.
  ~Pending() { abandon(); }

  // True when `wait` would return or throw at once. Never blocks.
  bool ready() { return !operation_ || operation_->ready(); }

  // Blocks until the operation has ended. Throws Timeout when the deadline passes (the operation
  // stays under way), PeerLost when the peer has ended, and for a program whatever it threw. After
  // it returns, this Pending is empty.
  void wait(Deadline deadline) {
    if (!operation_) return;
    operation_->wait(deadline);
    operation_.reset();
  }

  // Gives up. The engine keeps the tensor until the wire has let go of it. A program is told to end
  // (whatever it waits for throws), and this returns when it has: what it uses can then be let go.
  void cancel() {
    if (operation_) operation_->cancel();
    operation_.reset();
  }

  // Who sent it. REQUIRES: a receive that is under way and ready; for receive_any ask before
  // `wait`.
  WorkerId from() const { return operation_->from(); }

  // When the first of its bytes were there. REQUIRES: a message that is under way and ready.
  Time first_bytes() const { return operation_->first_bytes(); }

  bool under_way() const { return operation_ != nullptr; }

 private:
  friend std::size_t wait_any(std::span<Pending* const> pendings, Deadline deadline);

  void abandon() {
    if (operation_) operation_->abandon();
    operation_.reset();
  }

  std::shared_ptr<Operation> operation_;
};

// Blocks until one of them is ready and returns its index; throws Timeout when none is by the
// deadline. What the operation itself came to is learnt by its `wait`. REQUIRES: not empty, all of
// one worker, each under way.
std::size_t wait_any(std::span<Pending* const> pendings, Deadline deadline);

}  // namespace huddle
