#include "huddle/strategy/scheduled.h"

#include <utility>

#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/lanes.h"

namespace huddle {
namespace {

class ScheduledAveraging final : public Strategy {
 public:
  ScheduledAveraging(const Schedule& schedule, const ScheduledOptions& options,
                     const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        schedule_(schedule),
        options_(options),
        overlaps_(options.overlap == ScheduledOptions::Overlap::backward),
        models_(context.replica, averaging_by(options.algorithm, context, options.wire),
                {.slots = options.slots, .slots_wire = options.slots_wire}),
        beside_(context.replica, averaging_by(options.algorithm, context, options.wire),
                {.slots = options.slots, .slots_wire = options.slots_wire}, kScheduleLane),
        in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
    replica_.cut(options.buckets);
  }

  void before_forward(Step step) override {
    if (options_.order == ScheduledOptions::Order::before) average_models(step, group_of(step));
  }

  // This layer's weights are free once its backward is done: step them and let them travel.
  void gradients_ready(Step step, const Bucket& bucket) override {
    if (!overlaps_) return;
    replica_.update(bucket.range);
    if (!schedule_.meeting(step)) return;
    in_flight_.start(kScheduleLane, [this, step, bucket](Endpoint& lane) {
      return beside_.model(lane, group_of(step), step.value, bucket);
    });
  }

  Update before_update(Step) override { return overlaps_ ? Update::done : Update::apply; }

  Outcome parameters_updated(Step step) override {
    Group group = group_of(step);
    if (options_.order == ScheduledOptions::Order::after) average_models(step, group);
    return {.group = std::move(group), .progress = static_cast<double>(step.value + 1)};
  }

  std::map<std::string, double> figures() const override {
    return schedule_figures(schedule_, endpoint_.self());
  }

  void save(Archive& archive) const override {
    archive.tensors.merge((overlaps_ ? beside_ : models_).tensors());
  }
  void load(const Archive& archive) override {
    (overlaps_ ? beside_ : models_).load(archive.tensors);
  }

 private:
  Group group_of(Step step) const {
    const auto meeting = schedule_.meeting(step);
    return meeting ? schedule_.group_of(endpoint_.self(), *meeting) : Group({endpoint_.self()});
  }

  // x_i <- mean of x_j over the group; what already travels beside backward lands here.
  void average_models(Step step, const Group& group) {
    if (!schedule_.meeting(step)) return;
    const Time from = endpoint_.now();
    if (!overlaps_)
      for (const Bucket& bucket : replica_.buckets())
        in_flight_.run(
            [&](Endpoint& endpoint) { return models_.model(endpoint, group, step.value, bucket); });
    in_flight_.land();
    in_flight_.run(
        [&](Endpoint& endpoint) { return models_.statistics(endpoint, group, step.value); });
    in_flight_.settle(from);
    if (options_.slots == SlotPolicy::reset) replica_.reset_slots();
  }

  Endpoint& endpoint_;
  Replica& replica_;
  const Schedule schedule_;
  const ScheduledOptions options_;
  const bool overlaps_;
  ReplicaExchange models_;
  ReplicaExchange beside_;      // The same beside backward, in a lane of its own.
  AveragesInFlight in_flight_;  // Last: what is under way ends before what it uses.
};

}  // namespace

std::unique_ptr<Strategy> make_scheduled(const Schedule& schedule, const ScheduledOptions& options,
                                         const StrategyContext& context) {
  return std::make_unique<ScheduledAveraging>(schedule, options, context);
}

}  // namespace huddle
