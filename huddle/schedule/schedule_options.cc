#include "huddle/schedule/schedule_options.h"

#include <algorithm>
#include <array>
#include <charconv>
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

std::vector<int> parse_radices(std::string_view what, std::string_view text) {
  std::vector<int> radices;
  const char* place = text.data();
  const char* const end = place + text.size();
  while (true) {
    const auto [after, error] = std::from_chars(place, end, radices.emplace_back());
    if (error != std::errc() || (after != end && *after != 'x'))
      throw UsageError(
          concat(what, " '", text, "' is not of the form 4x4 (whole numbers with x between)."));
    if (after == end) return radices;
    place = after + 1;
  }
}

std::string to_string(const std::vector<int>& radices) {
  std::string text;
  for (const int radix : radices) text += concat(text.empty() ? "" : "x", radix);
  return text;
}

int parse_racks(std::string_view text, int workers) {
  if (text.empty()) return 0;
  const std::vector<int> shape = parse_radices("--racks", text);
  if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && workers % shape[0] == 0 &&
      workers / shape[0] == shape[1])
    return shape[1];
  int racks = std::clamp(shape.front(), 1, workers);
  while (workers % racks != 0) --racks;
  throw UsageError(concat("--racks ", text, " does not make ", workers,
                          " workers (racks x workers per rack); for example --racks ", racks, "x",
                          workers / racks, "."));
}

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

ScheduleOptions schedule_options_ds_sync(const Options& options, int workers_per_rack) {
  const std::string& name = options.text("schedule");
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const auto& known) { return known.first == name; });
  check(kind != kKinds.end(), "a schedule that the keys do not list");
  const std::string& radices = options.text("radices");
  const ScheduleOptions chosen{
      .kind = kind->second,
      .radices = radices == kNoRadices ? std::vector<int>() : parse_radices("radices", radices),
      .workers_per_rack = workers_per_rack,
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
