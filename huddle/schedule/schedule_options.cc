#include "huddle/schedule/schedule_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

constexpr std::string_view kNoRadices = "auto";

// The schedules of ds_sync by name.
constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds = {{{"grid", Kind::grid},
                                                                      {"rotating", Kind::rotating},
                                                                      {"halves", Kind::halves},
                                                                      {"authors", Kind::authors},
                                                                      {"random", Kind::random},
                                                                      {"fixed", Kind::fixed}}};

KeyInfo global_every_key() {
  return {.name = "global_every",
          .fallback = "0",
          .help = "one average of all workers every so many steps; 0: never",
          .maximum = 10000};
}

int whole(const Options& options, std::string_view key) {
  return static_cast<int>(options.integer(key));
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

}  // namespace

std::vector<KeyInfo> schedule_keys_ds_sync() {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : kKinds) kinds.emplace_back(name);
  return {{.name = "schedule",
           .type = KeyInfo::Type::choice,
           .fallback = "grid",
           .help = "how the groups change from step to step",
           .choices = kinds},
          {.name = "radices",
           .type = KeyInfo::Type::text,
           .fallback = std::string(kNoRadices),
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
          {.name = "seed", .fallback = "0", .help = "of random groups"}};
}

std::vector<KeyInfo> schedule_keys_sesgd() {
  return {{.name = "radix",
           .fallback = "2",
           .help = "size of the groups; 2: pairs",
           .minimum = 2,
           .maximum = 1 << 20},
          global_every_key()};
}

ScheduleOptions schedule_options_ds_sync(const Options& options, const Topology& topology) {
  const std::string& name = options.text("schedule");
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const auto& known) { return known.first == name; });
  check(kind != kKinds.end(), "a schedule that the keys do not list");
  const std::string& radices = options.text("radices");
  const ScheduleOptions chosen{
      .kind = kind->second,
      .radices = radices == kNoRadices ? std::vector<int>() : parse_counts("radices", radices, 'x'),
      .topology = topology,
      .cross_every = whole(options, "cross_every"),
      .group = whole(options, "group"),
      .global_every = whole(options, "global_every"),
      .seed = static_cast<Random::Seed>(options.integer("seed"))};
  refuse_idle_keys(chosen, options);
  return chosen;
}

ScheduleOptions schedule_options_sesgd(const Options& options) {
  return {.kind = Kind::exchange,
          .radix = whole(options, "radix"),
          .global_every = whole(options, "global_every")};
}

}  // namespace huddle
