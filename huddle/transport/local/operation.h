// What can be under way in a hub: messages, watches and (lanes.h) programs.

#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <memory>
#include <string>

#include "huddle/base/group.h"
#include "huddle/transport/pending.h"
#include "huddle/transport/tag.h"

namespace huddle {

class Hub;

// One thread of control of a worker: its body, or one of its lanes.
struct Party {
  const WorkerId worker;
  bool must_end = false;  // Guarded by the hub's lock. Whatever it waits for throws.
};

// Anything under way. Fields are guarded by the hub's lock unless they are
// constant.
class HubOperation : public Operation, public std::enable_shared_from_this<HubOperation> {
 public:
  HubOperation(Hub& hub, const Party& party) : hub_(hub), party_(party), owner_(party.worker) {}

  bool ready() override;
  void wait(Deadline deadline) override;
  void cancel() override {}
  void abandon() override {}
  WorkerId from() const override { return owner_; }
  Time first_bytes() const override;
  std::size_t wait_any(std::span<Operation* const> operations, Deadline deadline) override;

  // "receiving an average from worker 5", for errors.
  virtual std::string describe() const = 0;
  virtual bool is_program() const { return false; }

 protected:
  friend class Hub;
  Hub& hub_;
  const Party& party_;  // Looked at by that party alone, which is there as long as it does.
  const WorkerId owner_;
  bool ended_ = false;
  Time first_bytes_ = 0;
  Time visible_at_ = 0;  // The owner learns of the end at this moment.
  std::exception_ptr error_;
};

class Cargo;
struct Journey;

// A message, seen from one of its two ends.
class Transfer final : public HubOperation {
 public:
  enum class Direction { send, receive };

  Transfer(Hub& hub, const Party& party, Direction direction, WorkerId peer, Tag tag,
           at::Tensor tensor)
      : HubOperation(hub, party),
        direction_(direction),
        peer_(peer),
        tag_(tag),
        tensor_(std::move(tensor)) {}

  // The sender's end of a message from another process.
  Transfer(Hub& hub, const Party& sender, WorkerId to, Tag tag, std::shared_ptr<Cargo> cargo)
      : HubOperation(hub, sender),
        direction_(Direction::send),
        peer_(to),
        tag_(tag),
        cargo_(std::move(cargo)) {}

  // For what is outside, which moves the bytes.
  WorkerId peer() const { return peer_; }
  const Tag& tag() const { return tag_; }
  const at::Tensor& tensor() const { return tensor_; }
  Cargo& cargo() const { return *cargo_; }

  void cancel() override;
  void abandon() override;
  WorkerId from() const override;
  std::string describe() const override;

 private:
  friend class Hub;
  friend class Channels;
  template <typename T>
  friend class Roster;
  const Direction direction_;
  WorkerId peer_;  // kAnybody until a receive_any is matched.
  const Tag tag_;
  at::Tensor tensor_;
  const std::shared_ptr<Cargo> cargo_;  // Instead of a tensor.
  Time posted_ = 0;
  bool waits_in_channel_ = false;
  std::size_t place_ = 0;             // Among those who wait for the same worker.
  std::shared_ptr<Journey> journey_;  // Of a send to somebody who receives from anybody.
  bool is_copied_ = false;            // Right now, without the lock.
};

inline constexpr WorkerId kAnybody{-1};

// Looks out for losses in a group.
class Watch final : public HubOperation {
 public:
  Watch(Hub& hub, const Party& party, const Group& group)
      : HubOperation(hub, party), group_(group) {}

  void cancel() override;
  void abandon() override { cancel(); }
  std::string describe() const override { return "exchanging with its group"; }

 private:
  friend class Hub;
  template <typename T>
  friend class Roster;
  const Group group_;
  bool waits_ = false;
  std::size_t place_ = 0;  // Among all that wait.
};

}  // namespace huddle
