// All strategies by name, with their keys: what `huddle list strategies` prints and what the
// strategy string is checked against.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/strategy/entry.h"

namespace huddle {

std::vector<SpecInfo> known_strategies();

// Throw UsageError where no strategy is spelt like that.
Traits traits_of(std::string_view spec);

// Who averages with whom in which step, where that is known before a run, and how much of a model
// travels. Throws UsageError that names the strategies that have a schedule if this one has none.
Schedule schedule_of(std::string_view spec, const StrategySetting& setting);
inline Schedule schedule_of(std::string_view spec, const Cluster& cluster) {
  return schedule_of(spec, StrategySetting{.cluster = cluster});
}
std::vector<std::string> strategies_with_schedule();

// Its options in this setting, with nothing left open; and the spec with what was left open filled
// in ("p_reduce" with 8 workers: "p_reduce:group=4").
Options options_of(std::string_view spec, const StrategySetting& setting);
std::string settled(std::string_view spec, const StrategySetting& setting);
std::string settled(std::string_view spec, const StrategyContext& context);

// Whether it would come to something else by the published form, which it does not name.
bool depends_on_form(std::string_view spec, const StrategySetting& setting);

// How to make the strategy `spec` ("bsp:algorithm=ring,buckets=4"). Throws UsageError unless it can
// run in such a setting. A run of so few steps that its workers would never exchange anything
// cannot: it would look fast.
MakeStrategy prepare_strategy(std::string_view spec, const StrategySetting& setting);

// The same, in the setting that the context knows of, and made at once.
std::unique_ptr<Strategy> make_strategy(std::string_view spec, const StrategyContext& context);

}  // namespace huddle
