#include "huddle/strategy/ds_sync/ds_sync.h"

#include "huddle/schedule/schedule.h"
#include "huddle/strategy/scheduled.h"

namespace huddle {

SpecInfo ds_sync_info() {
  SpecInfo info{
      .name = "ds_sync",
      .summary =
          "DS-Sync: a local step, then the model's average in small groups that change every step",
      .keys = schedule_keys_ds_sync()};
  for (KeyInfo& key : scheduled_keys()) info.keys.push_back(std::move(key));
  return info;
}

Schedule schedule_of_ds_sync(const Options& options, const Cluster& cluster) {
  return make_schedule(schedule_options_ds_sync(options, cluster.workers_per_rack),
                       cluster.workers);
}

void check_ds_sync(const Options& options, const StrategySetting& setting) {
  check_scheduled(schedule_of_ds_sync(options, setting.cluster), options, setting);
}

std::unique_ptr<Strategy> make_ds_sync(const Options& options, const StrategyContext& context) {
  const Schedule schedule =
      make_schedule(schedule_options_ds_sync(options, context.averaging.workers_per_rack),
                    context.endpoint.workers());
  return make_scheduled(schedule, options, context);
}

}  // namespace huddle
