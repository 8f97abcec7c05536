#include "huddle/strategy/ds_sync/ds_sync.h"

#include "huddle/strategy/scheduled.h"

namespace huddle {

StrategyEntry ds_sync_entry() {
  return scheduled_entry(
      {.name = "ds_sync",
       .summary =
           "DS-Sync: a local step, then the model's average in small groups that change every step",
       .keys = schedule_keys_ds_sync()},
      [](const Options& options, const Cluster& cluster) {
        return make_schedule(schedule_options_ds_sync(options, cluster.topology), cluster.workers);
      });
}

}  // namespace huddle
