#include "huddle/strategy/registry.h"

#include <functional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/ad_psgd/ad_psgd.h"
#include "huddle/strategy/bsp/bsp.h"
#include "huddle/strategy/ds_sync/ds_sync.h"
#include "huddle/strategy/eager/eager.h"
#include "huddle/strategy/local_sgd/rounds.h"
#include "huddle/strategy/p_reduce/p_reduce.h"
#include "huddle/strategy/parameter_server/asp.h"
#include "huddle/strategy/random_groups/random_groups.h"
#include "huddle/strategy/sesgd/sesgd.h"

namespace huddle {
namespace {

// One strategy. A new one adds a line to `entries`, or to `round_presets`.
struct Entry {
  SpecInfo info;
  std::function<void(const Options&, const StrategySetting&)> check;
  std::function<std::unique_ptr<Strategy>(const Options&, const StrategyContext&)> make;
  std::function<Traits(const Options&)> traits = [](const Options&) { return Traits{}; };
  std::function<Schedule(const Options&, const Cluster&)> schedule = {};  // Empty: has none.
};

// Of those who lose the run with any worker, and of those who do not.
Traits own_pace(const Options&) { return {.pace = Pace::own}; }
Traits own_pace_for_whoever_is_left(const Options&) {
  return {.pace = Pace::own, .survives_loss = true};
}

std::vector<Entry> entries() {
  std::vector<Entry> entries = {
      {.info = bsp_info(), .check = check_bsp, .make = make_bsp, .schedule = schedule_of_bsp},
      {.info = ds_sync_info(),
       .check = check_ds_sync,
       .make = make_ds_sync,
       .schedule = schedule_of_ds_sync},
      {.info = sesgd_info(),
       .check = check_sesgd,
       .make = make_sesgd,
       .schedule = schedule_of_sesgd},
      {asp_info(), check_served, make_asp, own_pace},
      {ssp_info(), check_served, make_ssp, own_pace},
      {ad_psgd_info(), check_ad_psgd, make_ad_psgd, own_pace_for_whoever_is_left},
      {eager_info(), check_eager, make_eager, own_pace},
      {.info = random_groups_info(),
       .check = check_random_groups,
       .make = make_random_groups,
       .schedule = schedule_of_random_groups},
      {p_reduce_info(), check_p_reduce, make_p_reduce, own_pace_for_whoever_is_left},
  };
  for (const RoundPreset& preset : round_presets())
    entries.push_back({preset.info, std::bind_front(check_rounds, preset),
                       std::bind_front(make_rounds, preset), traits_of_rounds});
  return entries;
}

// The entry that `spec` names and its options, all validated.
std::pair<Entry, Options> resolve(std::string_view spec) {
  const Spec parsed = parse_spec(spec);
  const SpecInfo info = find_info("strategy", known_strategies(), parsed.name);
  for (Entry& entry : entries())
    if (entry.info.name == info.name) return {entry, Options("strategy", entry.info, parsed)};
  throw LogicError("a known strategy has no entry");
}

}  // namespace

std::vector<SpecInfo> known_strategies() {
  std::vector<SpecInfo> known;
  for (const Entry& entry : entries()) known.push_back(entry.info);
  return known;
}

Traits traits_of(std::string_view spec) {
  const auto [entry, options] = resolve(spec);
  return entry.traits(options);
}

Schedule schedule_of(std::string_view spec, const Cluster& cluster) {
  const auto [entry, options] = resolve(spec);
  if (!entry.schedule)
    throw UsageError(concat("strategy '", entry.info.name, "' (", entry.info.summary,
                            ") has no schedule of groups. Strategies that have one: ",
                            joined(strategies_with_schedule()), "; for example ds_sync."));
  return entry.schedule(options, cluster);
}

std::vector<std::string> strategies_with_schedule() {
  std::vector<std::string> names;
  for (const Entry& entry : entries())
    if (entry.schedule) names.push_back(entry.info.name);
  return names;
}

void check_strategy(std::string_view spec, const StrategySetting& setting) {
  const auto [entry, options] = resolve(spec);
  entry.check(options, setting);
}

std::unique_ptr<Strategy> make_strategy(std::string_view spec, const StrategyContext& context) {
  const auto [entry, options] = resolve(spec);
  Cluster cluster;
  cluster.workers = context.endpoint.workers();
  cluster.workers_per_rack = context.averaging.workers_per_rack;
  entry.check(options,
              {cluster, context.replica.rule().options(), context.clip_norm, context.steps});
  return entry.make(options, context);
}

}  // namespace huddle
