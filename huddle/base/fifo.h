// First come, first served.
//
// Mostly holds a few things at a time, for which std::deque would be large, and keeps its memory
// from one time to the next.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace huddle {

template <typename T>
class Fifo {
 public:
  bool empty() const { return first_ == entries_.size(); }
  void push(T entry) { entries_.push_back(std::move(entry)); }

  // REQUIRE: not empty.
  T& front() { return entries_[first_]; }
  T pop() {
    T entry = std::move(entries_[first_++]);
    // Those that have left are let go before they are as many as those that are here.
    if (2 * first_ >= entries_.size()) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return entry;
  }

 private:
  std::vector<T> entries_;
  std::size_t first_ = 0;  // Those before it have left.
};

}  // namespace huddle
