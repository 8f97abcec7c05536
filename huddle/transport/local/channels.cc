#include "huddle/transport/local/channels.h"

#include <algorithm>

#include "huddle/base/error.h"

namespace huddle {

Channels::Key Channels::key_of(const Transfer& transfer) {
  const bool sends = transfer.direction_ == Transfer::Direction::send;
  const WorkerId to = sends ? transfer.peer_ : transfer.owner_;
  const WorkerId from = is_any_source(transfer.tag_.purpose) ? kAnybody
                        : sends                              ? transfer.owner_
                                                             : transfer.peer_;
  return {to, from, pack(transfer.tag_)};
}

// A product with an odd number far from powers of two carries every bit into the upper half.
std::size_t Channels::Hash::operator()(const Key& key) const {
  const auto ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.to.value)) << 32 |
                    static_cast<std::uint32_t>(key.from.value);
  const std::uint64_t mixed = (ends ^ key.tag * 0xff51afd7ed558ccdU) * 0x9e3779b97f4a7c15U;
  return mixed ^ mixed >> 32;
}

std::shared_ptr<Transfer> Channels::Queue::pop() {
  std::shared_ptr<Transfer> front = std::move(entries_[first_++]);
  if (first_ >= 32 && 2 * first_ >= entries_.size()) {
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return front;
}

void Channels::Queue::remove(const Transfer& transfer) {
  entries_.erase(std::find_if(entries_.begin() + static_cast<std::ptrdiff_t>(first_),
                              entries_.end(),
                              [&](const auto& each) { return each.get() == &transfer; }));
}

Roster<Transfer>& Channels::roster_of(const Transfer& transfer) {
  return transfer.peer_ == kAnybody ? from_anybody_
                                    : awaited_[static_cast<std::size_t>(transfer.peer_.value)];
}

std::shared_ptr<Transfer> Channels::take_match(const Transfer& transfer) {
  const auto found = channels_.find(key_of(transfer));
  if (found == channels_.end()) return nullptr;
  Channel& channel = found->second;
  const bool sends = transfer.direction_ == Transfer::Direction::send;
  auto& others = sends ? channel.receives : channel.sends;
  if (others.empty()) return nullptr;
  const std::shared_ptr<Transfer> other = others.pop();
  if (channel.empty()) channels_.erase(found);
  roster_of(*other).remove(*other);
  other->waits_in_channel_ = false;
  return other;
}

void Channels::add(const std::shared_ptr<Transfer>& transfer) {
  Channel& channel = channels_[key_of(*transfer)];
  const bool sends = transfer->direction_ == Transfer::Direction::send;
  (sends ? channel.sends : channel.receives).push(transfer);
  roster_of(*transfer).add(transfer);
  transfer->waits_in_channel_ = true;
}

void Channels::leave_channel(Transfer& transfer) {
  const auto found = channels_.find(key_of(transfer));
  check(found != channels_.end(), "a waiting transfer has no channel");
  Channel& channel = found->second;
  auto& queue = transfer.direction_ == Transfer::Direction::send ? channel.sends : channel.receives;
  queue.remove(transfer);
  if (channel.empty()) channels_.erase(found);
  transfer.waits_in_channel_ = false;
}

void Channels::remove(Transfer& transfer) {
  const auto keep = std::static_pointer_cast<Transfer>(transfer.shared_from_this());
  leave_channel(transfer);
  roster_of(transfer).remove(transfer);
}

std::vector<std::shared_ptr<Transfer>> Channels::take_all_for(WorkerId worker) {
  auto all = awaited_[static_cast<std::size_t>(worker.value)].take_all();
  for (const std::shared_ptr<Transfer>& transfer : all) leave_channel(*transfer);
  return all;
}

std::shared_ptr<Transfer> Channels::first_receive(Key key) const {
  const auto found = channels_.find(key);
  return found == channels_.end() || found->second.receives.empty()
             ? nullptr
             : found->second.receives.front();
}

}  // namespace huddle
