#include "huddle/strategy/scheduled.h"

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/replica/averages_in_flight.h"
#include "huddle/schedule/mixing.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

class ScheduledAveraging final : public Strategy {
 public:
  ScheduledAveraging(const Schedule& schedule, const Options& options,
                     const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        schedule_(schedule),
        everyone_(Group::everyone(context.endpoint.workers())),
        warmup_(options.integer("warmup")),
        slots_(slot_policy(options)),
        before_(options.text("order") == "before"),
        averages_gradients_(options.text("payload") == "gradient"),
        overlaps_(options.text("overlap") == "backward"),
        averager_(averaging(options, context)),
        overlapped_(averaging(options, context), kScheduleLane),
        in_flight_(context.endpoint, context.meter, context.averaging.deadline) {
    replica_.cut(static_cast<int>(options.integer("buckets")));
  }

  void before_forward(Step step) override {
    if (before_ && !is_warmup(step)) exchange_models(step);
  }

  // This layer's weights are free once its backward is done: step them and let them travel.
  void gradients_ready(Step step, const Bucket& bucket) override {
    if (!overlaps_ || is_warmup(step)) return;
    replica_.update(bucket.range);
    in_flight_.start(kScheduleLane, [this, step, bucket](Endpoint& lane) {
      return exchange_bucket(lane, overlapped_, step, bucket);
    });
  }

  Update before_update(Step step) override {
    if (is_warmup(step) || averages_gradients_) {
      for (const Bucket& bucket : replica_.buckets())
        meter_.blocked(averager_.average(endpoint_, group_of(step),
                                         part(replica_.gradients(), bucket.range),
                                         sequence(step, bucket, 0)));
      return Update::apply;
    }
    return overlaps_ ? Update::done : Update::apply;
  }

  std::map<std::string, double> figures() const override {
    if (endpoint_.self() != WorkerId{0}) return {};
    return {{"schedule.period", static_cast<double>(schedule_.period())},
            {"schedule.mixing_factor", analyse_mixing(schedule_, 0).mixing_factor}};
  }

  Outcome parameters_updated(Step step) override {
    if (!before_ && !is_warmup(step) && !averages_gradients_) exchange_models(step);
    return {.group = group_of(step), .progress = static_cast<double>(step.value + 1)};
  }

 private:
  static Averaging averaging(const Options& options, const StrategyContext& context) {
    Averaging how = context.averaging;
    how.algorithm = parse_algorithm(options.text("algorithm"));
    return how;
  }

  bool is_warmup(Step step) const { return step.value < warmup_; }

  Group group_of(Step step) const {
    return is_warmup(step) ? everyone_ : schedule_.group_of(endpoint_.self(), step);
  }

  void exchange_models(Step step) {
    const Time from = endpoint_.now();
    if (!overlaps_)
      for (const Bucket& bucket : replica_.buckets())
        in_flight_.run(
            [&](Endpoint& endpoint) { return exchange_bucket(endpoint, averager_, step, bucket); });
    in_flight_.land();
    in_flight_.run([&](Endpoint& endpoint) {
      return averager_.average(endpoint, group_of(step), replica_.statistics(),
                               statistics_sequence(step));
    });
    in_flight_.settle(from);
    if (slots_ == SlotPolicy::reset) replica_.reset_slots();
  }

  // Parameters, and optimizer slots as their policy says.
  Exchange exchange_bucket(Endpoint& endpoint, Averager& averager, Step step,
                           const Bucket& bucket) {
    const Group group = group_of(step);
    Exchange total = averager.average(endpoint, group, part(replica_.parameters(), bucket.range),
                                      sequence(step, bucket, 0));
    if (slots_ != SlotPolicy::average) return total;
    for (std::size_t slot = 0; slot < replica_.slots().size(); ++slot)
      append(total,
             averager.average(endpoint, group, part(replica_.slots()[slot].values, bucket.range),
                              sequence(step, bucket, 1 + slot)));
    return total;
  }

  // Every worker takes part in the same averages of a step, each under a number of its own.
  std::size_t averages_per_step() const {
    return replica_.buckets().size() * (1 + replica_.slots().size()) + 1;
  }
  Sequence numbered(Step step, std::size_t index) const {
    return Sequence{static_cast<std::uint32_t>(
        static_cast<std::uint64_t>(step.value) * averages_per_step() + index)};
  }
  Sequence sequence(Step step, const Bucket& bucket, std::size_t tensor) const {
    return numbered(
        step, static_cast<std::size_t>(bucket.index) * (1 + replica_.slots().size()) + tensor);
  }
  Sequence statistics_sequence(Step step) const { return numbered(step, averages_per_step() - 1); }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  const Schedule schedule_;
  const Group everyone_;
  const std::int64_t warmup_;
  const SlotPolicy slots_;
  const bool before_;
  const bool averages_gradients_;
  const bool overlaps_;
  Averager averager_;
  Averager overlapped_;         // In its own lane.
  AveragesInFlight in_flight_;  // Last: what is under way ends before what it uses.
};

// Throws UsageError unless the algorithm fits every group that will ever form.
void check_groups(const Schedule& schedule, const Options& options,
                  const StrategySetting& setting) {
  const Algorithm algorithm = parse_algorithm(options.text("algorithm"));
  if (fits_every_group(algorithm)) return;  // There may be thousands of groups.
  if (options.integer("warmup") > 0)
    check_algorithm(algorithm, Group::everyone(setting.cluster.workers), setting.cluster);
  if (schedule.period() == 0 && (algorithm == Algorithm::sharded || algorithm == Algorithm::pair))
    throw UsageError(concat("algorithm=", options.text("algorithm"),
                            " does not fit every random group; use ring or direct."));
  if (schedule.global_every() > 0) check_algorithm(algorithm, schedule.members(), setting.cluster);
  if (schedule.random() != nullptr) return;  // Never twice the same.
  Partition before;
  for (int phase = 0; phase < schedule.turn(); ++phase) {
    const Partition groups = schedule.cycle_phase(phase);
    if (groups == before) continue;
    for (const Group& group : groups) check_algorithm(algorithm, group, setting.cluster);
    before = groups;
  }
}

// Gradients are averaged between backward and the local step, and nothing else ever is.
void check_gradients(const Options& options) {
  refuse_idle(options, "order",
              "payload=gradient averages gradients before the local step and never a model, so "
              "there is no order to choose; use payload=model");
  if (slot_policy(options) != SlotPolicy::keep)
    refuse_idle(options, "slots",
                "payload=gradient leaves optimizer state with each worker; use payload=model");
}

void check_overlap(const Options& options, const StrategySetting& setting) {
  if (setting.clip_norm > 0)
    throw UsageError(
        "overlap=backward steps a bucket before all gradients are there, but clipping needs the "
        "norm of all: "
        "use overlap=none, or leave out --clip.");
  if (options.text("order") == "before")
    throw UsageError(
        "overlap=backward averages right after each bucket's step, so it goes with order=after "
        "only.");
  if (options.text("payload") == "gradient")
    throw UsageError(
        "overlap=backward lets stepped parameters travel, so it goes with payload=model only.");
  if (options.integer("buckets") == 1)
    refuse_idle(options, "overlap",
                "a single bucket is complete when backward ends, so nothing is left to hide "
                "behind; use buckets=4");
}

}  // namespace

std::vector<KeyInfo> scheduled_keys() {
  return {choice_key("order", "after",
                     "average after the local step, or before it as in the authors' vision code",
                     {"after", "before"}),
          slots_key(),
          {.name = "warmup", .fallback = "0", .help = "first steps that run as bsp"},
          choice_key("payload", "model",
                     "gradient: the ablation that averages gradients only and drifts apart",
                     {"model", "gradient"}),
          choice_key("overlap", "none",
                     "backward: a bucket is stepped and travels while backward goes on below it",
                     {"none", "backward"}),
          {.name = "buckets",
           .fallback = "1",
           .help = "how many buckets the model travels in",
           .minimum = 1,
           .maximum = 1000},
          choice_key("algorithm", "ring", "how a group averages; pairs always exchange directly",
                     algorithm_names())};
}

void check_scheduled(const Schedule& schedule, const Options& options,
                     const StrategySetting& setting) {
  check_groups(schedule, options, setting);
  check_slots(options, setting);
  if (options.text("overlap") == "backward") check_overlap(options, setting);
  if (options.text("payload") == "gradient") check_gradients(options);
}

std::unique_ptr<Strategy> make_scheduled(const Schedule& schedule, const Options& options,
                                         const StrategyContext& context) {
  return std::make_unique<ScheduledAveraging>(schedule, options, context);
}

}  // namespace huddle
