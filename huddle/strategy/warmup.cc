#include "huddle/strategy/warmup.h"

#include <algorithm>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

constexpr const char* kWarmingUp = "warming_up";

struct WarmupOptions {
  std::int64_t steps = 0;
  Algorithm algorithm = Algorithm::automatic;
  WireFormat wire = WireFormat::full;  // Of gradients: bf16 where models travel rounded.
  Pace pace = Pace::lockstep;          // Of what follows.
};

// What follows begins after the warm-up: its steps of the run are fewer.
StrategyContext after(const WarmupOptions& warmup, StrategyContext context) {
  context.first_step = {warmup.steps};
  if (context.steps > 0) context.steps = std::max<std::int64_t>(1, context.steps - warmup.steps);
  return context;
}

class Warmup final : public Strategy {
 public:
  Warmup(const WarmupOptions& warmup, const MakeStrategy& make, const StrategyContext& context)
      : warmup_(warmup),
        run_steps_(context.steps),
        everyone_(Group::everyone(context.endpoint.workers())),
        strategy_(make(after(warmup, context))),
        gradients_(context, {.algorithm = warmup.algorithm, .wire = warmup.wire}) {}

  void before_forward(Step step) override {
    is_over_ = step.value >= warmup_.steps;
    if (!is_over_) return;
    begin_strategy();
    strategy_->before_forward(step);
  }

  void gradients_ready(Step step, const Bucket& bucket) override {
    is_over_ ? strategy_->gradients_ready(step, bucket) : gradients_.ready(step, everyone_, bucket);
  }

  Update before_update(Step step) override {
    if (is_over_) return strategy_->before_update(step);
    try {
      gradients_.complete(step, everyone_);
    } catch (const PeerLost& lost) {
      throw PeerLost(lost.peer(), concat(lost.what(),
                                         "; the warm-up averages among all workers and "
                                         "cannot go on without one: start again"));
    }
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    return is_over_ ? of_the_run(strategy_->parameters_updated(step)) : outcome(step);
  }

  Outcome skipped(Step step) override {
    return is_over_ ? of_the_run(strategy_->skipped(step)) : outcome(step);
  }

  void finish() override {
    begin_strategy();
    strategy_->finish();
  }
  std::map<std::string, at::Tensor> models() const override {
    return is_over_ ? strategy_->models() : std::map<std::string, at::Tensor>();
  }
  std::map<std::string, double> figures() const override { return strategy_->figures(); }

  // What has not begun has nothing to save.
  void save(Archive& archive) const override {
    if (is_over_)
      strategy_->save(archive);
    else
      archive.numbers[kWarmingUp] = 1;
  }
  void load(const Archive& archive) override {
    is_over_ = !archive.numbers.contains(kWarmingUp);
    if (is_over_) strategy_->load(archive);
  }

 private:
  void begin_strategy() {
    if (!std::exchange(has_begun_, true)) strategy_->start();
  }

  // Where nobody counts steps but the strategy, it would go on after a run that is over by now.
  Outcome outcome(Step step) const {
    const bool is_last =
        warmup_.pace == Pace::own && run_steps_ > 0 && step.value + 1 >= run_steps_;
    return {.group = everyone_, .progress = static_cast<double>(step.value + 1), .go_on = !is_last};
  }

  // Who goes at its own pace counts from where it began.
  Outcome of_the_run(Outcome outcome) const {
    if (warmup_.pace == Pace::own) outcome.progress += static_cast<double>(warmup_.steps);
    return outcome;
  }

  const WarmupOptions warmup_;
  const std::int64_t run_steps_;
  const Group everyone_;
  bool is_over_ = false;
  bool has_begun_ = false;  // What follows.
  const std::unique_ptr<Strategy> strategy_;
  GradientAveraging gradients_;  // Of the buckets that the strategy has cut.
};

// Throws UsageError where nothing would be left of the run for the strategy.
void refuse_whole_run(const Options& options, const std::string& name, std::int64_t steps) {
  const std::int64_t warmup = options.integer("warmup");
  if (steps == 0 || warmup < steps) return;
  throw UsageError(concat("strategy '", name, "': warmup is ", warmup, ", but the run has ", steps,
                          steps == 1 ? " step" : " steps",
                          ", so all of it would be bsp; give warmup=",
                          steps == 1 ? 0 : (steps + 4) / 5, ", more steps, or strategy bsp."));
}

}  // namespace

KeyInfo warmup_key(const char* fallback) {
  return {.name = "warmup", .fallback = fallback, .help = "first steps that run as bsp"};
}

MakeStrategy prepare_with_warmup(const StrategyEntry& entry, const Options& options,
                                 const StrategySetting& setting) {
  const MakeStrategy make = entry.prepare(options, setting);
  if (!options.has("warmup") || options.integer("warmup") == 0) return make;
  refuse_whole_run(options, entry.info.name, setting.steps);
  WarmupOptions warmup{.steps = options.integer("warmup"), .pace = entry.traits(options).pace};
  if (options.has("algorithm")) warmup.algorithm = parse_algorithm(options.text("algorithm"));
  const bool is_narrow = options.has("wire") && wire_of(options) != WireFormat::full;
  if (is_narrow && setting.type != at::kBFloat16) warmup.wire = WireFormat::bf16;
  check_algorithm(warmup.algorithm, Group::everyone(setting.cluster.workers), setting.cluster);
  return [warmup, make](const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<Warmup>(warmup, make, context);
  };
}

}  // namespace huddle
