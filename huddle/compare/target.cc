#include "huddle/compare/target.h"

#include "huddle/base/error.h"

namespace huddle {
namespace {

// Relative drift that rounding in single precision can leave between equal models and their mean.
constexpr double kRounding = 1e-7;

bool is_met(const Target& target, const Quality& quality) {
  return target.of == Target::Of::loss ? quality.loss <= target.value
                                       : quality.accuracy && *quality.accuracy >= target.value;
}

}  // namespace

bool is_formed(const CurvePoint& point) { return point.drift <= kRounding; }

std::optional<Reached> reach(const Target& target, std::span<const CurvePoint> curve,
                             const std::optional<ConsensusCost>& cost) {
  check(target.baseline.empty(), "a target over a baseline has no value yet");
  std::optional<Reached> first;
  for (const CurvePoint& point : curve) {
    if (!is_met(target, point.consensus) || (!is_formed(point) && !cost)) continue;
    Reached reached{.time = point.time, .trained_until = point.time, .progress = point.progress};
    if (!is_formed(point)) {
      reached.time += cost->seconds;
      reached.must_form = true;
      reached.bytes_per_worker = cost->bytes_per_worker;
    }
    // A later point may be there earlier, if its mean need not be formed.
    if (!first || reached.time < first->time) first = reached;
  }
  return first;
}

}  // namespace huddle
