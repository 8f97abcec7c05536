// All strategies by name, with their keys: what `huddle list strategies` prints and what the
// strategy string is checked against.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/spec.h"
#include "huddle/cluster/cluster.h"
#include "huddle/collective/average.h"
#include "huddle/record/meter.h"
#include "huddle/schedule/schedule.h"
#include "huddle/strategy/strategy.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// What a strategy is made with. All references outlive it.
struct StrategyContext {
  Endpoint& endpoint;
  Replica& replica;
  Meter& meter;         // Every exchange is entered here.
  Averaging averaging;  // Racks and deadline; a strategy sets the algorithm itself.
  double clip_norm = 0;
  std::int64_t steps = 0;  // That each worker is to take; 0: nobody knows.
};

std::vector<SpecInfo> known_strategies();

// Throws UsageError where no strategy is spelt like that.
Traits traits_of(std::string_view spec);

// Who averages with whom in which step, where that is known before a run. Throws UsageError that
// names the strategies that have a schedule if this one has none.
Schedule schedule_of(std::string_view spec, const Cluster& cluster);
std::vector<std::string> strategies_with_schedule();

// What a strategy has to get along with; known before any work starts.
struct StrategySetting {
  Cluster cluster;
  UpdateOptions update;
  double clip_norm = 0;    // 0: gradients are not clipped.
  std::int64_t steps = 0;  // That each worker is to take; 0: nobody knows.
};

// Throws UsageError unless `spec` ("bsp:algorithm=ring,buckets=4") can run in such a setting. A run
// of so few steps that its workers would never exchange anything cannot: it would look fast.
void check_strategy(std::string_view spec, const StrategySetting& setting);

// Throws UsageError like check_strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view spec, const StrategyContext& context);

}  // namespace huddle
