#include "huddle/strategy/registry.h"

#include <functional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/ad_psgd/ad_psgd.h"
#include "huddle/strategy/parameter_server/asp.h"
#include "huddle/strategy/bsp/bsp.h"
#include "huddle/strategy/ds_sync/ds_sync.h"
#include "huddle/strategy/eager/eager.h"
#include "huddle/strategy/p_reduce/p_reduce.h"
#include "huddle/strategy/random_groups/random_groups.h"
#include "huddle/strategy/local_sgd/rounds.h"
#include "huddle/strategy/sesgd/sesgd.h"

namespace huddle {
namespace {

// Whether values depend on who is ready first.
enum class Values { fixed, follow_time };

// One strategy. A new one adds a line to `entries`, or to `round_presets`.
struct Entry {
  SpecInfo info;
  std::function<void(const Options&, const StrategySetting&)> check;
  std::function<std::unique_ptr<Strategy>(const Options&, const StrategyContext&)> make;
  Values values = Values::fixed;
  std::function<Schedule(const Options&, const Cluster&)> schedule = {};  // Empty: has none.
};

std::vector<Entry> entries() {
  std::vector<Entry> entries = {
      {bsp_info(), check_bsp, make_bsp, Values::fixed, schedule_of_bsp},
      {ds_sync_info(), check_ds_sync, make_ds_sync, Values::fixed, schedule_of_ds_sync},
      {sesgd_info(), check_sesgd, make_sesgd, Values::fixed, schedule_of_sesgd},
      {asp_info(), check_served, make_asp, Values::follow_time},
      {ssp_info(), check_served, make_ssp, Values::follow_time},
      {ad_psgd_info(), check_ad_psgd, make_ad_psgd, Values::follow_time},
      {eager_info(), check_eager, make_eager, Values::follow_time},
      {random_groups_info(), check_random_groups, make_random_groups, Values::fixed,
       schedule_of_random_groups},
      {p_reduce_info(), check_p_reduce, make_p_reduce, Values::follow_time},
  };
  for (const RoundPreset& preset : round_presets())
    entries.push_back(
        {preset.info, std::bind_front(check_rounds, preset), std::bind_front(make_rounds, preset)});
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

bool follows_time(std::string_view spec) {
  return resolve(spec).first.values == Values::follow_time;
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
