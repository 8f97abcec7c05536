// The parts of which strategies with local steps are composed, as one value.
//
// Workers take tau local steps, a *round*, and meet at the *boundary* that ends it. What a strategy
// is comes down to a few choices at that boundary, and every named strategy (presets.h) is one
// combination of them:
//
//                       payload    delay      merge              outer
//   local_sgd           model      none       overwrite          none
//   slowmo              model      none       overwrite          heavy ball
//   diloco              delta      none       overwrite          Nesterov
//   easgd               elastic    none       pull back          none
//   overlap_local_sgd   model      one round  pull back          none, or heavy ball
//   cocod               model      one round  keep displacement  none
//
// Gradients as payload, averaged in every step, are what goes on inside a rack (`inner`).
// Boundaries are in boundary.h, rounds in local_steps.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "huddle/collective/plan.h"
#include "huddle/strategy/shared_keys.h"
#include "huddle/strategy/strategy.h"

namespace huddle {

// What happens in the steps between two boundaries.
enum class Inner {
  none,  // Each worker goes its own way.
  rack,  // Gradients are averaged inside the rack, which so acts as one worker with a larger batch.
};

// Who meets at a boundary.
enum class Scope {
  everyone,
  grid,  // A row or column of a grid, another at each boundary.
};

// What a worker brings to the average.
enum class RoundPayload {
  model,    // Its own model (or the one it proposes, which is its own plus a share of momentum).
  delta,    // How far it has come from the common model.
  elastic,  // What moves the anchor as far towards the models as it pulls them.
};

// When the average that a boundary starts is needed.
enum class Delay {
  none,       // At once: everybody waits for everybody.
  one_round,  // At the next boundary: it travels while the next round computes.
};

// How the average and the worker's own model become one.
enum class Merge {
  overwrite,          // x <- average
  pull_back,          // x <- x + alpha (anchor - x)
  keep_displacement,  // x <- average + (x - what was sent), so the steps since then are kept
};

// How the common model follows the averages. D: how far they are from it.
enum class Outer {
  none,        // It takes them as they are.
  heavy_ball,  // v <- momentum v + D; by rate * v. In units of gradients: v follows the learning
               // rate.
  nesterov,    // v <- momentum v + D; by rate * (D + momentum v). In units of parameters.
};

// Of a heavy ball, when the learning rate rises.
enum class Rescale {
  faithful,     // v is scaled by the new rate over the old one.
  at_most_one,  // v never grows by it.
};

struct Composition {
  std::int64_t tau = 1;  // Steps in a round.
  Inner inner = Inner::none;
  Scope scope = Scope::everyone;

  RoundPayload payload = RoundPayload::model;
  Delay delay = Delay::none;
  Merge merge = Merge::overwrite;
  double alpha = 0;  // Of pull_back.
  Outer outer = Outer::none;
  double outer_rate = 1;
  double outer_momentum = 0;
  Rescale rescale = Rescale::faithful;

  SlotPolicy slots = SlotPolicy::keep;
  StatisticsPolicy statistics = StatisticsPolicy::average;
  Algorithm algorithm = Algorithm::automatic;
  WireFormat wire = WireFormat::full;  // Of models, and of gradients inside a rack.
  std::optional<WireFormat> slots_wire = {};

  bool overwrites() const { return merge == Merge::overwrite; }
  bool keeps_displacement() const { return merge == Merge::keep_displacement; }
  bool sends_delta() const { return payload == RoundPayload::delta; }
  bool has_outer() const { return outer != Outer::none; }
  bool averages_statistics_late() const {
    return statistics == StatisticsPolicy::average && delay == Delay::one_round;
  }
};

// Why no recurrence is defined for this combination of parts, and which one is, as a sentence;
// empty where one is.
std::string why_undefined(const Composition& parts);

}  // namespace huddle
