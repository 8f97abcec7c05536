#include "huddle/base/components.h"

#include <numeric>

namespace huddle {

Components::Components(int size)
    : parents_(static_cast<std::size_t>(size)),
      sizes_(static_cast<std::size_t>(size), 1),
      count_(size) {
  std::iota(parents_.begin(), parents_.end(), 0);
}

int Components::root(int item) {
  const auto parent = [&](int of) -> int& { return parents_[static_cast<std::size_t>(of)]; };
  while (parent(item) != item) {
    parent(item) = parent(parent(item));  // Halves the path for those who ask later.
    item = parent(item);
  }
  return item;
}

void Components::join(int into, int from) {
  into = root(into);
  from = root(from);
  if (into == from) return;
  parents_[static_cast<std::size_t>(from)] = into;
  sizes_[static_cast<std::size_t>(into)] += sizes_[static_cast<std::size_t>(from)];
  --count_;
}

}  // namespace huddle
