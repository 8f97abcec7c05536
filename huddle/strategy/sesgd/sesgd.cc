#include "huddle/strategy/sesgd/sesgd.h"

#include "huddle/strategy/scheduled.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

// Groups of workers whose numbers differ in one digit of base `radix`, another digit every step.
Schedule schedule_of(const Options& options, const Cluster& cluster) {
  return make_schedule({.kind = ScheduleOptions::Kind::exchange,
                        .radix = static_cast<int>(options.integer("radix")),
                        .global_every = static_cast<int>(options.integer("global_every"))},
                       cluster.workers);
}

}  // namespace

StrategyEntry sesgd_entry() {
  return scheduled_entry(
      {.name = "sesgd",
       .summary =
           "SESGD: a local step, then the model's average with one partner, another every step",
       .keys = {{.name = "radix",
                 .fallback = "2",
                 .help = "size of the groups; 2: pairs",
                 .minimum = 2,
                 .maximum = 1 << 20},
                global_every_key(),
                form_key()}},
      schedule_of);
}

}  // namespace huddle
