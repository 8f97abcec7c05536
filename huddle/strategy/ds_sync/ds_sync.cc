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

constexpr std::string_view kAutoRadices = "auto";

// What changes the groups from step to step (schedule_kinds.h); `fixed`, the ablation, does not.
constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds = {{{"grid", Kind::grid},
                                                                      {"rotating", Kind::rotating},
                                                                      {"halves", Kind::halves},
                                                                      {"authors", Kind::authors},
                                                                      {"random", Kind::random},
                                                                      {"fixed", Kind::fixed}}};

std::vector<KeyInfo> keys() {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : kKinds) kinds.emplace_back(name);
  return {choice_key("schedule", "grid", "how the groups change from step to step", kinds),
          {.name = "radices",
           .type = KeyInfo::Type::text,
           .fallback = std::string(kAutoRadices),
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
          seed_key("of random groups")};
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
  if (options.cross_every != 1 && options.kind != Kind::rotating) refuse("cross_every", "rotating");
  if (options.group != 0 && options.kind != Kind::random && !is_fixed) refuse("group", "random");
  if (given.is_given("seed") && options.kind != Kind::random) refuse("seed", "random");
}

// Which groups, step by step.
Schedule schedule_of(const Options& options, const Cluster& cluster) {
  const std::string& name = options.text("schedule");
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const auto& known) { return known.first == name; });
  check(kind != kKinds.end(), "a schedule that the keys do not list");
  const std::string& radices = options.text("radices");
  const ScheduleOptions chosen{.kind = kind->second,
                               .radices = radices == kAutoRadices
                                              ? std::vector<int>()
                                              : parse_counts("radices", radices, 'x'),
                               .topology = cluster.topology,
                               .cross_every = static_cast<int>(options.integer("cross_every")),
                               .group = static_cast<int>(options.integer("group")),
                               .global_every = static_cast<int>(options.integer("global_every")),
                               .seed = static_cast<Random::Seed>(options.integer("seed"))};
  refuse_idle_keys(chosen, options);
  return make_schedule(chosen, cluster.workers);
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
