#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/scheduled.h"

namespace huddle {
namespace {

class ScheduledGradients final : public Strategy {
 public:
  ScheduledGradients(const Schedule& schedule, const ScheduledOptions& options,
                     const StrategyContext& context)
      : self_(context.endpoint.self()),
        schedule_(schedule),
        gradients_(context, {.algorithm = options.algorithm,
                             .buckets = options.buckets,
                             .overlap = GradientOptions::Overlap::none,
                             .wire = options.wire}) {}

  Update before_update(Step step) override {
    gradients_.complete(step, group_of(step));
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    return {.group = group_of(step), .progress = static_cast<double>(step.value + 1)};
  }

  std::map<std::string, double> figures() const override {
    return schedule_figures(schedule_, self_);
  }

 private:
  Group group_of(Step step) const { return schedule_.group_of(self_, step); }

  const WorkerId self_;
  const Schedule schedule_;
  GradientAveraging gradients_;
};

}  // namespace

std::unique_ptr<Strategy> make_scheduled_gradients(const Schedule& schedule,
                                                   const ScheduledOptions& options,
                                                   const StrategyContext& context) {
  return std::make_unique<ScheduledGradients>(schedule, options, context);
}

}  // namespace huddle
