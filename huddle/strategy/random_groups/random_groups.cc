#include "huddle/strategy/random_groups/random_groups.h"

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/scheduled.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

Schedule schedule_of(const Options& options, const Cluster& cluster) {
  const int workers = cluster.workers;
  const std::int64_t group = options.integer("group");
  if (workers < 2) throw UsageError("random_groups needs at least 2 workers; use --workers 2.");
  if (group > workers)
    throw UsageError(concat("group=", group, " is more than the ", workers,
                            " workers there are; use group=", workers, " or less."));
  const RandomPattern pattern{.members = workers,
                              .groups = static_cast<int>((workers + group - 1) / group),
                              .seed = static_cast<Random::Seed>(options.integer("seed"))};
  return {pattern, Group::everyone(workers)};
}

}  // namespace

StrategyEntry random_groups_entry() {
  return scheduled_entry(
      {.name = "random_groups",
       .summary = "a local step, then the model's average in a group drawn at random",
       .keys = {{.name = "group",
                 .fallback = "3",
                 .help = "the size of a group; some have one member less",
                 .minimum = 2,
                 .maximum = 1 << 20},
                seed_key()}},
      schedule_of);
}

}  // namespace huddle
