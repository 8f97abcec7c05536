#include "huddle/strategy/ad_psgd/ad_psgd.h"

#include <iterator>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/strategy/ad_psgd/pair_averages.h"
#include "huddle/strategy/shared_keys.h"
#include "huddle/strategy/step_budget.h"

namespace huddle {
namespace {

class AdPsgd final : public Strategy {
 public:
  struct Choice {
    Random::Seed seed;
    WireFormat wire;
    StepBudget::Rates rates;
  };

  AdPsgd(const Choice& choice, const StrategyContext& context)
      : self_(context.endpoint.self()),
        workers_(context.endpoint.workers()),
        replica_(context.replica),
        clip_norm_(context.clip_norm),
        seed_(choice.seed),
        first_step_(context.first_step),
        budget_(context, choice.rates),
        averages_(context, choice.wire) {
    replica_.cut(1);
  }

  void start() override { averages_.start(); }

  // g <- gradient at x_i; at the same time the mean of x_i and x_j, for both.
  void before_forward(Step step) override {
    budget_.ask();
    group_ = Group({self_});
    if (!averages_.is_active() || averages_.others().empty()) return;
    const WorkerId peer = draw_peer(step);
    group_ = Group({self_, peer});
    averages_.begin(peer);
  }

  // x_i <- x_i - lr * g, on what averages have made of x_i since its gradient was begun.
  Update before_update(Step) override {
    averages_.settle();
    replica_.clip_gradients(clip_norm_);
    averages_.with_copy([&](const at::Tensor& copy) {
      replica_.parameters().copy_(copy);
      replica_.update(replica_.everything());
      copy.copy_(replica_.parameters());
    });
    return Update::done;
  }

  Outcome parameters_updated(Step step) override { return outcome(step); }

  Outcome skipped(Step step) override {
    averages_.settle();
    return outcome(step);
  }

  void finish() override {
    averages_.leave();
    averages_.settle();
    averages_.with_copy([&](const at::Tensor& copy) { replica_.parameters().copy_(copy); });
    budget_.leave();
  }

  void save(Archive& archive) const override {
    if (budget_.is_limited()) archive.numbers["begun"] = budget_.begun();
  }

  void load(const Archive& archive) override {
    if (archive.numbers.contains("begun")) budget_.resume(archive.numbers.at("begun"));
  }

 private:
  WorkerId draw_peer(Step step) const {
    Random random(
        seed_, {static_cast<std::uint64_t>(self_.value), static_cast<std::uint64_t>(step.value)});
    const std::set<WorkerId>& others = averages_.others();
    return *std::next(others.begin(), static_cast<std::ptrdiff_t>(random.below(others.size())));
  }

  Outcome outcome(Step step) {
    const StepBudget::Grant grant = budget_.reply();
    replica_.set_rate_factor(grant.rate_factor);
    const double progress = budget_.is_limited()
                                ? static_cast<double>(grant.steps) / workers_
                                : static_cast<double>(step.value + 1 - first_step_.value);
    Outcome outcome{.group = group_, .progress = progress, .go_on = grant.go_on};
    // The passive partner knows nothing of the pair at its own step.
    if (group_.size() > 1) outcome.meeting = step.value * workers_ + self_.value;
    return outcome;
  }

  const WorkerId self_;
  const int workers_;
  Replica& replica_;
  const double clip_norm_;
  const Random::Seed seed_;
  const Step first_step_;
  Group group_;
  StepBudget budget_;
  PairAverages averages_;
};

MakeStrategy prepare(const Options& options, const StrategySetting& setting) {
  if (setting.cluster.workers < 2)
    throw UsageError("ad_psgd averages with a peer and needs at least 2 workers.");
  return [seed = static_cast<Random::Seed>(options.integer("seed")), wire = wire_of(options),
          rates = balances(options, setting)
                      ? StepBudget::Rates::balanced
                      : StepBudget::Rates::as_they_are](const StrategyContext& context) {
    return std::make_unique<AdPsgd>(AdPsgd::Choice{seed, wire, rates}, context);
  };
}

}  // namespace

StrategyEntry ad_psgd_entry() {
  return {
      .info = {.name = "ad_psgd",
               .summary = "AD-PSGD: averages with one random peer at a time while it computes",
               .keys = {seed_key("of the draw of peers"), balance_key(),
                        wire_key("bf16: models travel in half the bytes, and what rounding loses "
                                 "stays with its worker (ours); int8: in a quarter (Moniqua)",
                                 {"float", "bf16", "int8"})}},
      .prepare = prepare,
      .traits = [](const Options&) { return Traits{.pace = Pace::own, .survives_loss = true}; }};
}

}  // namespace huddle
