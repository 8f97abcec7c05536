#include "huddle/transport/local/operation.h"

#include <algorithm>
#include <utility>

#include "huddle/base/text.h"
#include "huddle/transport/local/hub.h"

namespace huddle {
namespace {

// How long a tensor may still be filled by somebody after its owner has given it up: as long as a
// slow network takes for so many bytes.
constexpr Seconds kPatience = 10;
constexpr double kSlowBytesPerSecond = 10e6;

}  // namespace

bool Hub::has_ended(const HubOperation& operation) const {
  return operation.ended_ && operation.visible_at_ <= now();
}

bool HubOperation::ready() {
  const std::lock_guard lock(hub_.scheduler_);
  hub_.scheduler_.look();
  return hub_.has_ended(*this) || !hub_.stopped_.empty();
}

void HubOperation::wait(Deadline deadline) {
  Operation* const self = this;
  wait_any(std::span(&self, 1), deadline);
  if (error_) std::rethrow_exception(error_);  // Constant once the operation has ended.
}

std::size_t HubOperation::wait_any(std::span<Operation* const> operations, Deadline deadline) {
  std::unique_lock lock(hub_.scheduler_);
  if (hub_.worker_state(owner_).exclusive_holder == &party_)
    for (const Operation* operation : operations)
      check(!static_cast<const HubOperation*>(operation)->is_program(),
            "an exclusive body waits for a program beside it, which may want to begin another one");
  const Time give_up = hub_.now() + deadline.after;
  while (true) {
    // First of all: peers that were interrupted too are not lost.
    if (!hub_.stopped_.empty()) throw Interrupted(hub_.stopped_);
    Time wake_at = give_up;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto& operation = static_cast<const HubOperation&>(*operations[i]);
      if (hub_.has_ended(operation)) return i;
      if (operation.ended_) wake_at = std::min(wake_at, operation.visible_at_);
    }
    hub_.require_running(party_);
    if (hub_.now() >= give_up) {
      // The last one says most: exchanges put what they wait for behind what they merely watch.
      const auto& awaited = static_cast<const HubOperation&>(*operations.back());
      throw Timeout(hub_.late(owner_, awaited.describe(), deadline));
    }
    hub_.rest(owner_, wake_at);
  }
}

void Transfer::cancel() {
  std::unique_lock lock(hub_.scheduler_);
  if (waits_in_channel_) {
    hub_.channels_.remove(*this);
    return;
  }
  // Somebody may be filling the tensor right now, which ends by itself if a peer does not stop in
  // the middle of it.
  const Time give_up =
      hub_.now() + kPatience + static_cast<double>(tensor_.nbytes()) / kSlowBytesPerSecond;
  while (is_copied_) {
    if (hub_.outside_ != nullptr && hub_.now() >= give_up)
      hub_.outside_->hang_up(peer_, "what it was sending did not end");
    hub_.rest(owner_, hub_.now() + 1);
  }
}

void Transfer::abandon() {
  if (direction_ == Direction::receive) cancel();  // A send stays in its channel, which owns it.
}

void Watch::cancel() {
  const std::lock_guard lock(hub_.scheduler_);
  if (std::exchange(waits_, false)) hub_.watches_.remove(*this);
}

Time HubOperation::first_bytes() const {
  const std::lock_guard lock(hub_.scheduler_);
  return first_bytes_;
}

WorkerId Transfer::from() const {
  const std::lock_guard lock(hub_.scheduler_);
  return direction_ == Direction::send ? owner_ : peer_;
}

std::string Transfer::describe() const {
  const std::string peer =
      peer_ == kAnybody ? std::string("anybody") : concat("worker ", peer_.value);
  return concat(direction_ == Direction::send ? "sending " : "receiving ", name_of(tag_.purpose),
                direction_ == Direction::send ? " to " : " from ", peer);
}

}  // namespace huddle
