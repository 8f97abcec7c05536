#include "huddle/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::string_view kWhat = "learning-rate schedule";

KeyInfo warmup_key() {
  return {.name = "warmup", .fallback = "0", .help = "steps over which the rate rises to its base"};
}

}  // namespace

std::vector<SpecInfo> known_learning_rates() {
  return {
      {.name = "constant", .summary = "the base rate all the time", .keys = {warmup_key()}},
      {.name = "step",
       .summary = "multiplied by a factor every so many steps",
       .keys =
           {{.name = "every", .fallback = "30", .help = "steps between two falls", .minimum = 1},
            {.name = "factor",
             .type = KeyInfo::Type::number,
             .fallback = "0.1",
             .help = "what each fall multiplies the rate by",
             .maximum = 1},
            warmup_key()}},
      {.name = "cosine",
       .summary = "half a cosine from the base rate down to the floor at the end of the run",
       .keys = {{.name = "floor",
                 .type = KeyInfo::Type::number,
                 .fallback = "0",
                 .help = "the last rate as a share of the base rate",
                 .maximum = 1},
                warmup_key()}},
  };
}

LearningRate::LearningRate(std::string_view spec, double base, std::int64_t total_steps)
    : base_(base), total_steps_(static_cast<double>(total_steps)) {
  check(base >= 0, "a learning rate is negative");
  check(total_steps >= 0, "a run has a negative number of steps");
  const Spec parsed = parse_spec(spec);
  const Options options(kWhat, find_info(kWhat, known_learning_rates(), parsed.name), parsed);
  warmup_ = options.number("warmup");
  if (warmup_ > total_steps_)
    throw UsageError(concat(kWhat, " '", spec, "': warmup=", options.text("warmup"),
                            " is longer than the run of ", total_steps,
                            " steps; shorten the warm-up or train longer."));
  if (options.has("every")) every_ = options.number("every");
  if (options.has("factor")) factor_ = options.number("factor");
  if (options.has("floor")) floor_ = options.number("floor");
}

double LearningRate::at(double progress) const {
  check(progress >= 0, "progress is negative");
  const double warm = warmup_ > 0 ? std::min(1.0, (progress + 1) / warmup_) : 1.0;
  return base_ * warm * share_of_base(std::min(progress, total_steps_));
}

double LearningRate::share_of_base(double progress) const {
  const double fallen = std::pow(factor_, std::floor(progress / every_));
  if (progress <= warmup_) return fallen;
  const double way = (progress - warmup_) / (total_steps_ - warmup_);
  return fallen * (floor_ + (1 - floor_) * (1 + std::cos(std::numbers::pi * way)) / 2);
}

}  // namespace huddle
