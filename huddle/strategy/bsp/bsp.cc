#include "huddle/strategy/bsp/bsp.h"

#include <algorithm>

#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

GradientOptions gradient_options(const Options& options) {
  return {.algorithm = parse_algorithm(options.text("algorithm")),
          .buckets = options.integer("buckets"),
          .lanes = options.integer("lanes"),
          .overlap = options.text("overlap") == "backward" ? GradientOptions::Overlap::backward
                                                           : GradientOptions::Overlap::none,
          .wire = wire_of(options)};
}

class Bsp final : public Strategy {
 public:
  Bsp(const GradientOptions& options, const StrategyContext& context)
      : everyone_(Group::everyone(context.endpoint.workers())), gradients_(context, options) {}

  void gradients_ready(Step step, const Bucket& bucket) override {
    gradients_.ready(step, everyone_, bucket);
  }

  Update before_update(Step step) override {
    gradients_.complete(step, everyone_);
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    return {.group = everyone_, .progress = static_cast<double>(step.value + 1)};
  }

  void save(Archive& archive) const override { gradients_.save(archive); }
  void load(const Archive& archive) override { gradients_.load(archive); }

 private:
  const Group everyone_;
  GradientAveraging gradients_;
};

MakeStrategy prepare(const Options& options, const StrategySetting& setting) {
  const GradientOptions chosen = gradient_options(options);
  check_algorithm(chosen.algorithm, Group::everyone(setting.cluster.workers), setting.cluster);
  if (chosen.lanes > 1 && chosen.overlap == GradientOptions::Overlap::none)
    refuse_idle(options, "lanes",
                "overlap=none lets buckets follow one another; use overlap=backward");
  if (chosen.lanes > 1 && chosen.buckets == 1)
    refuse_idle(options, "lanes", "a single bucket travels alone; use buckets=4");
  return
      [chosen](const StrategyContext& context) { return std::make_unique<Bsp>(chosen, context); };
}

Schedule everybody_at_every_step(const Options& options, const StrategySetting& setting) {
  const int workers = setting.cluster.workers;
  return Schedule(runs_pattern({.workers = workers, .size = workers}), Group::everyone(workers))
      .with({.bytes = bytes_over_float(wire_of(options)),
             .averages = std::max(1, static_cast<int>(options.integer("buckets")))});
}

}  // namespace

StrategyEntry bsp_entry() {
  return {
      .info = {.name = "bsp",
               .summary = "synchronous SGD: everybody's gradients are averaged at every step",
               .keys = {algorithm_key(),
                        buckets_key(),
                        {.name = "lanes",
                         .fallback = "1",
                         .help = "how many buckets may travel side by side",
                         .minimum = 1,
                         .maximum = kGradientLanes},
                        choice_key(
                            "overlap", "backward",
                            "backward: buckets travel while backward goes on; none: after it",
                            {"backward", "none"}),
                        wire_key("bf16: gradients travel rounded, in half the bytes; int8: in a "
                                 "quarter, with a scale for every 4,096, and what rounding "
                                 "loses is added to the next gradient",
                                 {"float", "bf16", "int8"})}},
      .prepare = prepare,
      .schedule = everybody_at_every_step};
}

}  // namespace huddle
