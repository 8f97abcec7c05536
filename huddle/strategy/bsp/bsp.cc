#include "huddle/strategy/bsp/bsp.h"

#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

GradientOptions gradient_options(const Options& options) {
  return {.algorithm = parse_algorithm(options.text("algorithm")),
          .buckets = options.integer("buckets"),
          .lanes = options.integer("lanes"),
          .overlap = options.text("overlap") == "backward" ? GradientOptions::Overlap::backward
                                                           : GradientOptions::Overlap::none};
}

class Bsp final : public Strategy {
 public:
  Bsp(const Options& options, const StrategyContext& context)
      : gradients_(context, Group::everyone(context.endpoint.workers()),
                   gradient_options(options)) {}

  void gradients_ready(Step step, const Bucket& bucket) override { gradients_.ready(step, bucket); }

  Update before_update(Step step) override {
    gradients_.complete(step);
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    return {.group = gradients_.group(), .progress = static_cast<double>(step.value + 1)};
  }

 private:
  GradientAveraging gradients_;
};

}  // namespace

SpecInfo bsp_info() {
  return {
      .name = "bsp",
      .summary = "synchronous SGD: everybody's gradients are averaged at every step",
      .keys = {{.name = "algorithm",
                .type = KeyInfo::Type::choice,
                .fallback = "default",
                .help = "how a group averages; default: pair for 2, halving_doubling up to 128 kB, "
                        "else ring",
                .choices = algorithm_names()},
               buckets_key(),
               {.name = "lanes",
                .fallback = "1",
                .help = "how many buckets may travel side by side",
                .minimum = 1,
                .maximum = kGradientLanes},
               {.name = "overlap",
                .type = KeyInfo::Type::choice,
                .fallback = "backward",
                .help = "backward: buckets travel while backward goes on; none: after it",
                .choices = {"backward", "none"}}},
  };
}

Schedule schedule_of_bsp(const Options&, const Cluster& cluster) {
  return {runs_pattern({.workers = cluster.workers, .size = cluster.workers}),
          Group::everyone(cluster.workers)};
}

void check_bsp(const Options& options, const StrategySetting& setting) {
  check_algorithm(parse_algorithm(options.text("algorithm")),
                  Group::everyone(setting.cluster.workers), setting.cluster);
  if (options.integer("lanes") == 1) return;
  if (options.text("overlap") == "none")
    refuse_idle(options, "lanes",
                "overlap=none lets buckets follow one another; use overlap=backward");
  if (options.integer("buckets") == 1)
    refuse_idle(options, "lanes", "a single bucket travels alone; use buckets=4");
}

std::unique_ptr<Strategy> make_bsp(const Options& options, const StrategyContext& context) {
  return std::make_unique<Bsp>(options, context);
}

}  // namespace huddle
