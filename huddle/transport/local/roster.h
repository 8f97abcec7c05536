// Things that wait, in the order of their coming as far as nobody has left: added and removed in
// constant time, and gone through in an order that is the same in every run.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace huddle {

// T has a member `std::size_t place_` for the one roster that it stands in.
template <typename T>
class Roster {
 public:
  void add(std::shared_ptr<T> entry) {
    entry->place_ = entries_.size();
    entries_.push_back(std::move(entry));
  }

  // The last one takes its place. REQUIRES: it stands here.
  void remove(const T& entry) {
    const std::size_t place = entry.place_;
    std::swap(entries_[place], entries_.back());
    entries_[place]->place_ = place;
    entries_.pop_back();
  }

  std::vector<std::shared_ptr<T>> take_all() { return std::exchange(entries_, {}); }
  const std::vector<std::shared_ptr<T>>& all() const { return entries_; }

 private:
  std::vector<std::shared_ptr<T>> entries_;
};

}  // namespace huddle
