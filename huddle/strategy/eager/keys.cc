#include "huddle/strategy/eager/eager.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

MakeStrategy prepare(const Options& options, const StrategySetting& setting) {
  const Algorithm algorithm = parse_algorithm(options.text("algorithm"));
  check_algorithm(algorithm, Group::everyone(setting.cluster.workers), setting.cluster);
  require_rule(setting, "eager applies several rounds in one step");
  PartialRounds::How how{.seed = static_cast<Random::Seed>(options.integer("seed"))};
  if (options.text("mode") == "solo") {
    how.mode = PartialRounds::Mode::solo;
    refuse_idle(options, "seed",
                "mode=solo draws nobody, whoever is first begins the round; use mode=majority");
  }
  return [how, algorithm](const StrategyContext& context) {
    PartialRounds::How with_deadline = how;
    with_deadline.averaging = averaging_by(algorithm, context);
    return make_eager(with_deadline, context);
  };
}

}  // namespace

StrategyEntry eager_entry() {
  return {
      .info = {.name = "eager",
               .summary = "eager-SGD: gradients are averaged without the late ones, which count "
                          "next time",
               .keys = {choice_key(
                            "mode", "majority",
                            "who begins a round: a worker drawn at random, or whoever is first",
                            {"majority", "solo"}),
                        seed_key(),
                        choice_key("algorithm", "default",
                                   "how gradients are averaged; default: as bsp chooses",
                                   algorithm_names())}},
      .prepare = prepare,
      .traits = [](const Options&) { return Traits{.pace = Pace::own}; },
      .why_no_balance = "a round averages whatever gradients there are, late ones in the next"};
}

}  // namespace huddle
