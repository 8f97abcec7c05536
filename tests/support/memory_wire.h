// A wire within one process, for tests of the engine of processes: what one worker sends lies in
// memory until the other looks. It can be told to lie, too.

#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/transport/process/wire.h"

namespace huddle {

// A message on its way.
struct MemoryMessage {
  std::vector<std::byte> header;
  std::vector<std::byte> data;
};

// What all wires of a run share. Any thread may call.
class MemoryNetwork {
 public:
  // Given each message on its way, returns what arrives in its place, in order.
  using Disturb = std::function<std::vector<MemoryMessage>(WorkerId to, MemoryMessage)>;

  enum class Order { kept, mixed };

  MemoryNetwork(int workers, Disturb disturb, Order order)
      : boxes_(static_cast<std::size_t>(workers)), disturb_(std::move(disturb)), order_(order) {}

  void put(WorkerId to, MemoryMessage message) {
    const std::lock_guard lock(mutex_);
    std::vector<MemoryMessage> arriving;
    if (disturb_)
      arriving = disturb_(to, std::move(message));
    else
      arriving.push_back(std::move(message));
    for (MemoryMessage& each : arriving)
      boxes_[static_cast<std::size_t>(to.value)].push_back(std::move(each));
  }

  bool take(WorkerId self, MemoryMessage& message) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[static_cast<std::size_t>(self.value)];
    if (box.empty()) return false;
    const std::size_t at = order_ == Order::mixed ? random_.below(box.size()) : 0;
    message = std::move(box[at]);
    box.erase(box.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<MemoryMessage>> boxes_;
  const Disturb disturb_;
  const Order order_;
  Random random_{1};
};

class MemoryWire final : public Wire {
 public:
  // Data of more than `small` bytes waits to be fetched.
  MemoryWire(MemoryNetwork& network, WorkerId self, std::size_t small = 1024)
      : network_(network), self_(self), small_(small) {}

  void send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
            Done done) override {
    network_.put(to, {{header.begin(), header.end()}, {data.begin(), data.end()}});
    done("");
  }

  void fetch(WorkerId, Handle waiting, std::span<std::byte> into, Done done) override {
    const std::vector<std::byte>& data = waiting_.at(waiting);
    std::copy_n(data.begin(), std::min(data.size(), into.size()), into.begin());
    waiting_.erase(waiting);
    done("");
  }

  void let_go(Handle waiting) override { waiting_.erase(waiting); }
  void hang_up(WorkerId, const std::string&) override {}

  bool progress(Listener& listener) override {
    MemoryMessage message;
    if (!network_.take(self_, message)) return false;
    Arrival arrival{.header = message.header, .bytes = message.data.size()};
    if (message.data.size() > small_) {
      waiting_[++handles_] = std::move(message.data);
      arrival.waiting = handles_;
    } else {
      arrival.data = message.data;
    }
    listener.arrived(arrival);
    return true;
  }

  Sleep prepare_sleep() override { return Sleep::blind; }
  int descriptor() const override { return -1; }

 private:
  MemoryNetwork& network_;
  const WorkerId self_;
  const std::size_t small_;
  Handle handles_ = 0;
  std::map<Handle, std::vector<std::byte>> waiting_;
};

}  // namespace huddle
