// For tests: the XOR masks of shuffle-exchange, by which partners are found in a power of two.

#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {

inline std::vector<int> exchange_masks(int workers) {
  if (workers < 2 || !std::has_single_bit(static_cast<unsigned>(workers)))
    throw UsageError(concat("masks need a power of two workers, not ", workers, "."));
  std::vector<int> masks = {1};
  for (int mask = workers / 2; mask > 1; mask /= 2) masks.push_back(mask);
  return masks;
}

}  // namespace huddle
