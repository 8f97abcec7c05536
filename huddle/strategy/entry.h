// What a strategy is made of and made with: the one value by which its room shows itself to the
// registry.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"
#include "huddle/cluster/cluster.h"
#include "huddle/collective/average.h"
#include "huddle/record/meter.h"
#include "huddle/schedule/schedule.h"
#include "huddle/strategy/strategy.h"
#include "huddle/transport/endpoint.h"
#include "huddle/transport/service.h"

namespace huddle {

// What a strategy has to get along with; known before any work starts.
struct StrategySetting {
  Cluster cluster;
  std::optional<UpdateOptions> update = UpdateOptions();  // Nothing: only the user can update.
  double clip_norm = 0;                                   // 0: gradients are not clipped.
  std::int64_t steps = 0;            // That each worker is to take; 0: nobody knows.
  at::ScalarType type = at::kFloat;  // Of the model's numbers.
};

// What one worker's strategy is made with. All references outlive it.
struct StrategyContext {
  Endpoint& endpoint;
  Replica& replica;
  Meter& meter;         // Every exchange is entered here.
  Averaging averaging;  // Racks and deadline; a strategy sets the algorithm itself.
  double clip_norm = 0;
  std::int64_t steps = 0;  // That each worker is to take; 0: nobody knows.
  WorkerId home = {};      // Beside whom its services run, if it has any.
  Step first_step = {};    // The first that it sees.
};

// `context.averaging` by this algorithm, in this format.
inline Averaging averaging_by(Algorithm algorithm, const StrategyContext& context,
                              WireFormat wire = WireFormat::full,
                              Rounding rounding = Rounding::kept) {
  Averaging how = context.averaging;
  how.algorithm = algorithm;
  how.wire = wire;
  how.rounding = rounding;
  return how;
}

// Of a service beside the worker that the context names; `role`: what that worker did and what its
// loss means, "ran the controller, without which ...".
inline Service::Terms service_terms(const StrategyContext& context, Lane lane, std::string role) {
  return {.home = context.home,
          .lane = lane,
          .deadline = context.averaging.deadline,
          .without = [home = context.home, role](WorkerId) {
            return concat("worker ", home.value, " ", role);
          }};
}

using MakeStrategy = std::function<std::unique_ptr<Strategy>(const StrategyContext&)>;

struct StrategyEntry {
  SpecInfo info;

  // Says what keys come to in this setting that leave it open (`auto`).
  std::function<void(Options&, const StrategySetting&)> settle = [](Options&,
                                                                    const StrategySetting&) {};

  // How to make it with these options, settled. Throws UsageError, with the reason and what to use
  // instead, where they contradict one another or the setting.
  std::function<MakeStrategy(const Options&, const StrategySetting&)> prepare;

  std::function<Traits(const Options&)> traits = [](const Options&) { return Traits{}; };

  // Of one without the key `balance`: why it has none.
  std::string why_no_balance =
      "its workers wait for one another, so all take equal shares of the steps anyway";

  // Who averages with whom in which step, where that is known before a run; empty: it is not. By
  // settled options.
  std::function<Schedule(const Options&, const StrategySetting&)> schedule = {};
};

}  // namespace huddle
