#include "huddle/strategy/sesgd/sesgd.h"

#include "huddle/schedule/schedule.h"
#include "huddle/strategy/scheduled.h"

namespace huddle {

SpecInfo sesgd_info() {
  SpecInfo info{
      .name = "sesgd",
      .summary =
          "SESGD: a local step, then the model's average with one partner, another every step",
      .keys = schedule_keys_sesgd()};
  for (KeyInfo& key : scheduled_keys()) info.keys.push_back(std::move(key));
  return info;
}

Schedule schedule_of_sesgd(const Options& options, const Cluster& cluster) {
  return make_schedule(schedule_options_sesgd(options), cluster.workers);
}

void check_sesgd(const Options& options, const StrategySetting& setting) {
  check_scheduled(schedule_of_sesgd(options, setting.cluster), options, setting);
}

std::unique_ptr<Strategy> make_sesgd(const Options& options, const StrategyContext& context) {
  const Schedule schedule =
      make_schedule(schedule_options_sesgd(options), context.endpoint.workers());
  return make_scheduled(schedule, options, context);
}

}  // namespace huddle
