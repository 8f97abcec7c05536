// The connected components of 0..size-1 as they are joined one by one (union-find). Each question
// is nearly free.

#pragma once

#include <vector>

namespace huddle {

class Components {
 public:
  explicit Components(int size);

  // REQUIRES here and below: 0 <= item < size.
  void join(int into, int from);

  // How many there are.
  int count() const { return count_; }

  // A member that stands for all of its component, until that is joined with another.
  int root(int item);

  // Of the item's component.
  int size(int item) { return sizes_[static_cast<std::size_t>(root(item))]; }

 private:
  std::vector<int> parents_;
  std::vector<int> sizes_;
  int count_;
};

}  // namespace huddle
