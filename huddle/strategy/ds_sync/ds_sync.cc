#include "huddle/strategy/ds_sync/ds_sync.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/scheduled.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

// What changes the groups from step to step (schedule_kinds.h); `fixed`, the ablation, does not.
constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds = {{{"grid", Kind::grid},
                                                                      {"rotating", Kind::rotating},
                                                                      {"halves", Kind::halves},
                                                                      {"authors", Kind::authors},
                                                                      {"random", Kind::random},
                                                                      {"fixed", Kind::fixed}}};

std::vector<KeyInfo> keys() {
  std::vector<std::string> kinds = {std::string(kAuto)};
  for (const auto& [name, kind] : kKinds) kinds.emplace_back(name);
  return {choice_key("schedule", "auto",
                     "how the groups change from step to step; auto: rotating where uplinks are "
                     "narrower than their racks, else grid",
                     kinds),
          {.name = "radices",
           .type = KeyInfo::Type::text,
           .fallback = std::string(kAuto),
           .help = "sizes of a grid's groups by phase, as 4x4; auto: as square as possible"},
          {.name = "cross_every",
           .fallback = "1",
           .help = "rotating: average across racks every so many steps",
           .minimum = 1,
           .maximum = 1000},
          {.name = "group",
           .fallback = "0",
           .help = "size of the groups of random and fixed; 0: about the square root of all",
           .maximum = 1 << 20},
          global_every_key(),
          seed_key("of random groups"),
          form_key()};
}

// Throws UsageError when a key was set that `kind` does not have.
void refuse_idle_keys(const ScheduleOptions& options, const Options& given) {
  const std::string& kind = given.text("schedule");
  const auto refuse = [&](std::string_view key, std::string_view owner) {
    throw UsageError(concat("strategy 'ds_sync': ", key, " has no meaning for schedule=", kind,
                            "; leave it out, or choose schedule=", owner, "."));
  };
  const bool is_fixed = options.kind == Kind::fixed;
  if (!options.radices.empty() && options.kind != Kind::grid && !is_fixed)
    refuse("radices", "grid");
  if (given.is_given("cross_every") && kind != "rotating") refuse("cross_every", "rotating");
  if (options.group != 0 && options.kind != Kind::random && !is_fixed) refuse("group", "random");
  if (given.is_given("seed") && options.kind != Kind::random) refuse("seed", "random");
}

// The narrowest way out of a rack, in bytes per second.
double narrowest_uplink(const Topology& topology) {
  double narrowest = topology.uplink_bytes_per_second;
  for (const Path& path : topology.paths)
    if (path.a.kind == Place::Kind::rack)
      narrowest = std::min(narrowest, path.link.bytes_per_second);
  for (const LinkOverride& link : topology.link_overrides)
    if (link.place.kind == Place::Kind::rack && link.bytes_per_second)
      narrowest = std::min(narrowest, *link.bytes_per_second);
  return narrowest;
}

// A grid lets all workers of a rack cross its uplink at once in every other step; where that is
// narrower than their own connections together, representatives cross it one at a time.
bool has_narrow_uplinks(const Topology& topology) {
  if (topology.rack_count() < 2) return false;
  const int hosts = topology.hosts.empty()
                        ? static_cast<int>(topology.racks.size())
                        : *std::max_element(topology.hosts.begin(), topology.hosts.end()) + 1;
  const double rack = topology.nic_bytes_per_second * hosts / topology.rack_count();
  return narrowest_uplink(topology) < rack;
}

Kind chosen_kind(const Options& options, const Topology& topology) {
  const std::string& name = options.text("schedule");
  if (name == kAuto)
    return options.text("radices") == kAuto && has_narrow_uplinks(topology) &&
                   topology.equal_rack_size() > 1
               ? Kind::rotating
               : Kind::grid;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const auto& known) { return known.first == name; });
  check(kind != kKinds.end(), "a schedule that the keys do not list");
  return kind->second;
}

// Why `auto` chose what it did, where racks gave it a choice.
std::string reason(const Options& options, Kind kind, const Topology& topology) {
  if (options.text("schedule") != kAuto || options.text("radices") != kAuto ||
      topology.rack_count() < 2)
    return "";
  if (kind == Kind::rotating)
    return "uplinks are narrower than the connections behind them, so as few workers of a rack as "
           "possible cross them at a time (schedule=rotating).";
  if (has_narrow_uplinks(topology))
    return "uplinks are narrower than the connections behind them, but representatives need racks "
           "of equal size, so groups are those of a grid (schedule=grid).";
  if (topology.uplink_bytes_per_second == kUnlimited)
    return "nothing is known of narrow uplinks (a cluster file says how fast they are), so groups "
           "are those of a grid (schedule=grid).";
  return "no uplink is narrower than the connections behind it, so groups are those of a grid "
         "(schedule=grid).";
}

// Which groups, step by step.
Schedule schedule_of(const Options& options, const Cluster& cluster) {
  const Kind kind = chosen_kind(options, cluster.topology);
  const std::string& radices = options.text("radices");
  const ScheduleOptions chosen{
      .kind = kind,
      .radices = radices == kAuto ? std::vector<int>() : parse_counts("radices", radices, 'x'),
      .topology = cluster.topology,
      .cross_every = static_cast<int>(options.integer("cross_every")),
      .group = static_cast<int>(options.integer("group")),
      .global_every = static_cast<int>(options.integer("global_every")),
      .seed = static_cast<Random::Seed>(options.integer("seed"))};
  refuse_idle_keys(chosen, options);
  return make_schedule(chosen, cluster.workers).with_note(reason(options, kind, cluster.topology));
}

}  // namespace

StrategyEntry ds_sync_entry() {
  return scheduled_entry(
      {.name = "ds_sync",
       .summary =
           "DS-Sync: a local step, then the model's average in small groups that change every step",
       .keys = keys()},
      schedule_of);
}

}  // namespace huddle
