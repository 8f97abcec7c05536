#include "huddle/replica/late_average.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/scheduled.h"

namespace huddle {
namespace {

class HiddenGroups final : public Strategy {
 public:
  HiddenGroups(const Schedule& schedule, const ScheduledOptions& options,
               const StrategyContext& context)
      : self_(context.endpoint.self()),
        first_(context.first_step),
        schedule_(schedule),
        models_(context.endpoint, context.meter, context.replica,
                {.how = averaging_by(options.algorithm, context, options.wire),
                 .slots = options.slots,
                 .slots_wire = options.slots_wire,
                 .lane = kScheduleLane}) {
    context.replica.cut(1);
  }

  void start() override {
    if (!is_resumed_) models_.start();
  }

  // Tells of the group whose average arrives.
  Outcome parameters_updated(Step step) override {
    Outcome outcome{.group = Group({self_}), .progress = static_cast<double>(step.value + 1)};
    if (const auto meeting = schedule_.meeting(step)) {
      if (step.value - schedule_.meetings().every >= first_.value)
        outcome.group = schedule_.group_of(self_, {meeting->value - 1});
      models_.correct();
      models_.launch(schedule_.group_of(self_, *meeting), step.value);
    }
    return outcome;
  }

  // Nothing was learnt, but the others meet.
  Outcome skipped(Step step) override { return parameters_updated(step); }

  void finish() override { models_.correct(); }

  std::map<std::string, double> figures() const override {
    return schedule_figures(schedule_, self_);
  }

  void save(Archive& archive) const override { archive.tensors.merge(models_.tensors()); }
  void load(const Archive& archive) override {
    models_.load(archive.tensors);
    is_resumed_ = true;
  }

 private:
  const WorkerId self_;
  const Step first_;
  const Schedule schedule_;
  bool is_resumed_ = false;
  LateAverage models_;
};

}  // namespace

std::unique_ptr<Strategy> make_hidden_groups(const Schedule& schedule,
                                             const ScheduledOptions& options,
                                             const StrategyContext& context) {
  return std::make_unique<HiddenGroups>(schedule, options, context);
}

}  // namespace huddle
