#include "huddle/strategy/sesgd/sesgd.h"

#include "huddle/strategy/scheduled.h"

namespace huddle {

StrategyEntry sesgd_entry() {
  return scheduled_entry(
      {.name = "sesgd",
       .summary =
           "SESGD: a local step, then the model's average with one partner, another every step",
       .keys = schedule_keys_sesgd()},
      [](const Options& options, const Cluster& cluster) {
        return make_schedule(schedule_options_sesgd(options), cluster.workers);
      });
}

}  // namespace huddle
