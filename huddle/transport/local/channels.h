// Which ends of messages wait for one another.
//
// All that wait for one worker are found without looking at anybody else's, so that the end of a
// worker costs as much as depends on it. Guarded by the hub's lock.

#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "huddle/transport/local/operation.h"
#include "huddle/transport/local/roster.h"

namespace huddle {

class Channels {
 public:
  // A channel is one (sender, receiver, tag), or one (receiver, tag) where anybody may send.
  struct Key {
    WorkerId to{0};
    WorkerId from{0};  // kAnybody where anybody may send.
    std::uint32_t tag = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  explicit Channels(int workers) : awaited_(static_cast<std::size_t>(workers)) {}

  static Key key_of(const Transfer& transfer);

  // The other end of `transfer` that has waited longest, which waits no more; none: null.
  std::shared_ptr<Transfer> take_match(const Transfer& transfer);

  // From now on `transfer` waits for its other end, or no more.
  void add(const std::shared_ptr<Transfer>& transfer);
  void remove(Transfer& transfer);

  // All that wait for this very worker; they wait no more.
  std::vector<std::shared_ptr<Transfer>> take_all_for(WorkerId worker);

  // Those who would receive from anybody.
  const std::vector<std::shared_ptr<Transfer>>& from_anybody() const { return from_anybody_.all(); }

  // Who has waited longest to receive from anybody in this channel; nobody: null.
  std::shared_ptr<Transfer> first_receive(Key key) const;

 private:
  // First come, first served. Mostly one at a time, for which a deque would be large.
  class Queue {
   public:
    bool empty() const { return first_ == entries_.size(); }
    const std::shared_ptr<Transfer>& front() const { return entries_[first_]; }
    void push(const std::shared_ptr<Transfer>& transfer) { entries_.push_back(transfer); }
    std::shared_ptr<Transfer> pop();
    void remove(const Transfer& transfer);

   private:
    std::vector<std::shared_ptr<Transfer>> entries_;
    std::size_t first_ = 0;  // Those before it have left.
  };

  // At most one of the two queues holds anything.
  struct Channel {
    Queue sends;
    Queue receives;
    bool empty() const { return sends.empty() && receives.empty(); }
  };

  Roster<Transfer>& roster_of(const Transfer& transfer);
  void leave_channel(Transfer& transfer);

  std::unordered_map<Key, Channel, Hash> channels_;
  std::vector<Roster<Transfer>> awaited_;  // By worker: those who wait for it.
  Roster<Transfer> from_anybody_;
};

}  // namespace huddle
