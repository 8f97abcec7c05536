// What a scenario says must hold, judged by the rows of its comparison: a claim that is checked
// whenever it is run.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "huddle/compare/comparison.h"

namespace huddle {

struct Expectation {
  enum class Of {
    speedup,            // By the time of a step. Of several strategies the best counts.
    speedup_to_target,  // By the time to the target; likewise.
    accuracy_points,  // Consensus accuracy less that of the yardstick. Of several the worst counts.
  };

  std::vector<std::string> labels;  // Of strategies, at least one.
  std::vector<std::string> cases;
  std::string over;  // The name of a yardstick.
  Of of = Of::speedup;
  double at_least = 0;
  int in = 0;  // Of its cases, so many; 0: all.
};

struct Verdict {
  std::string text;  // "SESGD over BSP, latency 5ms: 6.45x (6.40 to 6.50), at least 5.00x"
  bool holds = false;
};

// Each in the case that decides: the worst of those that must hold, which are the best ones where
// not all must. With several seeds it is the 95 % interval that must lie on the right side, not the
// mean. Where a figure is missing, it does not hold.
Verdict judge(const Expectation& expectation, std::span<const ComparedRow> rows);

}  // namespace huddle
