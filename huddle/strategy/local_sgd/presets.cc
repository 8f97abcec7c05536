#include "huddle/strategy/local_sgd/presets.h"

#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/local_sgd/local_steps.h"
#include "huddle/strategy/shared_keys.h"
#include "huddle/strategy/warmup.h"

namespace huddle {
namespace {

constexpr const char* kElasticAlpha = "0.9/N";  // easgd's default, which depends on the workers.

KeyInfo number_key(const char* name, const char* fallback, const char* help) {
  return {.name = name, .type = KeyInfo::Type::number, .fallback = fallback, .help = help};
}

KeyInfo alpha_key(const char* fallback) {
  return number_key("alpha", fallback, "how far models are pulled towards the anchor, up to 1");
}

KeyInfo momentum_key(const char* name, const char* fallback) {
  return number_key(name, fallback, "momentum of the anchor or outer model, from 0 to below 1");
}

// What presets have of their own.
struct Preset {
  const char* name;
  const char* summary;
  const char* tau;
  const char* warmup = "0";
  const char* statistics = "average";
  std::vector<KeyInfo> keys = {};
};

// All presets take the keys of the parts that go with every method.
SpecInfo info(Preset preset) {
  SpecInfo info{.name = preset.name, .summary = preset.summary, .keys = std::move(preset.keys)};
  info.keys.insert(
      info.keys.begin(),
      {.name = "tau", .fallback = preset.tau, .help = "local steps in a round", .minimum = 1});
  for (KeyInfo& key : std::vector<KeyInfo>{
           warmup_key(preset.warmup),
           choice_key("inner", "none", "rack: gradients are averaged inside the rack at every step",
                      {"none", "rack"}),
           choice_key("scope", "all",
                      "who meets at a boundary; grid: rows and columns of a grid in turn",
                      {"all", "grid"}),
           slots_key(),
           choice_key("statistics", preset.statistics,
                      "BatchNorm statistics: kept by each worker, averaged at boundaries, or "
                      "measured anew for evaluation",
                      {"keep", "average", "recompute"}),
           algorithm_key(),
           wire_key("bf16: models (and gradients inside a rack) travel in half the bytes (ours)"),
           slots_wire_key()})
    info.keys.push_back(std::move(key));
  return info;
}

StatisticsPolicy statistics_policy(const Options& options) {
  const std::string& text = options.text("statistics");
  return text == "keep"      ? StatisticsPolicy::keep
         : text == "average" ? StatisticsPolicy::average
                             : StatisticsPolicy::recompute;
}

// Local SGD with the options that all presets have: the others start from it.
Composition local_sgd(const Options& options, int) {
  return {.tau = options.integer("tau"),
          .inner = options.text("inner") == "rack" ? Inner::rack : Inner::none,
          .scope = options.text("scope") == "grid" ? Scope::grid : Scope::everyone,
          .slots = slot_policy(options),
          .statistics = statistics_policy(options),
          .algorithm = parse_algorithm(options.text("algorithm")),
          .wire = wire_of(options),
          .slots_wire = slots_wire_of(options)};
}

double momentum(const Options& options, const char* key) {
  const double value = options.number(key);
  if (value < 1) return value;
  throw UsageError(concat(key, "=", value,
                          " is not from 0 to below 1, so the momentum would never "
                          "fade; for example ",
                          key, "=0.7."));
}

double rate(const Options& options, const char* key) {
  const double value = options.number(key);
  if (value > 0) return value;
  throw UsageError(concat(key, "=", value,
                          " is not above 0, so the model would never move; for example ", key,
                          "=0.7."));
}

Composition slowmo(const Options& options, int workers) {
  Composition parts = local_sgd(options, workers);
  parts.outer = Outer::heavy_ball;
  parts.outer_rate = rate(options, "slow_lr");
  parts.outer_momentum = momentum(options, "beta");
  return parts;
}

Composition diloco(const Options& options, int workers) {
  Composition parts = local_sgd(options, workers);
  parts.payload = RoundPayload::delta;
  parts.outer = Outer::nesterov;
  parts.outer_rate = rate(options, "outer_lr");
  parts.outer_momentum = momentum(options, "outer_momentum");
  return parts;
}

void check_alpha(double alpha, double working_value) {
  if (alpha > 0 && alpha <= 1) return;
  throw UsageError(concat("alpha=", alpha, " is not above 0 and at most 1: ",
                          alpha > 0 ? "models would be thrown past the anchor"
                                    : "workers would never hear of one another",
                          "; for example alpha=", working_value, "."));
}

// Beyond 2/(N+1) the mean of the models overshoots the anchor by more than it was off.
double elastic_alpha(const Options& options, int workers) {
  if (options.text("alpha") == kElasticAlpha) return 0.9 / workers;
  const double alpha = options.number("alpha");
  check_alpha(alpha, 0.9 / workers);
  if (alpha <= 2.0 / (workers + 1)) return alpha;
  throw UsageError(concat("easgd with alpha=", alpha, " is unstable: with ", workers,
                          " workers alpha must be at most 2/(N+1) = ", 2.0 / (workers + 1),
                          ", and up to 1/N = ", 1.0 / workers,
                          " all weights stay positive; for example alpha=", 0.9 / workers, "."));
}

Composition easgd(const Options& options, int workers) {
  Composition parts = local_sgd(options, workers);
  parts.payload = RoundPayload::elastic;
  parts.merge = Merge::pull_back;
  parts.alpha = elastic_alpha(options, workers);
  if (options.text("overlap") == "round") parts.delay = Delay::one_round;
  return parts;
}

Composition cocod(const Options& options, int workers) {
  Composition parts = local_sgd(options, workers);
  parts.delay = Delay::one_round;
  parts.merge = Merge::keep_displacement;
  return parts;
}

Composition overlap_local_sgd(const Options& options, int workers) {
  Composition parts = local_sgd(options, workers);
  parts.delay = Delay::one_round;
  parts.merge = Merge::pull_back;
  parts.alpha = options.number("alpha");
  parts.outer_momentum = momentum(options, "beta");
  if (parts.outer_momentum > 0) parts.outer = Outer::heavy_ball;
  if (options.text("cap_rescale") == "on") parts.rescale = Rescale::at_most_one;
  if (parts.outer == Outer::none && parts.rescale == Rescale::at_most_one)
    refuse_idle(options, "cap_rescale", "beta=0 has no momentum to scale; use beta=0.7");
  check_alpha(parts.alpha, 0.6);
  if (parts.alpha == 1)
    throw UsageError(
        "overlap_local_sgd with alpha=1 never moves: every boundary would put all models back to "
        "the anchor, which is formed of them, whatever beta is; use alpha below 1, for example "
        "alpha=0.6.");
  return parts;
}

// Throws UsageError where a run would be over before its first boundary.
void check_length(const std::string& name, const Composition& parts, const Options& options,
                  const StrategySetting& setting) {
  if (setting.steps == 0 || setting.cluster.workers < 2) return;
  const std::int64_t warmup = options.integer("warmup");
  const std::int64_t left = setting.steps - warmup;
  if (left < 1 || parts.tau <= left) return;  // Too long a warm-up is refused as such.
  throw UsageError(concat("strategy '", name, "': tau is ", parts.tau, ", but the run has ", left,
                          left == 1 ? " step" : " steps", warmup > 0 ? " after its warm-up" : "",
                          ", so its ", parts.inner == Inner::rack ? "racks" : "workers",
                          " would never exchange anything", warmup > 0 ? " there" : "",
                          "; give tau=", left, left == 1 ? "" : " or less", ", or --steps ",
                          parts.tau + warmup, " or more."));
}

using Compose = Composition (*)(const Options& options, int workers);

StrategyEntry entry(const Preset& preset, Compose compose) {
  const SpecInfo about = info(preset);
  return {
      .info = about,
      .prepare = [name = about.name, compose](const Options& options,
                                              const StrategySetting& setting) -> MakeStrategy {
        check_slots(options, setting);
        const Composition parts = compose(options, setting.cluster.workers);
        check_local_steps(parts, setting);
        check_length(name, parts, options, setting);
        return std::bind_front(make_local_steps, parts);
      },
      .traits =
          [](const Options& options) { return Traits{.statistics = statistics_policy(options)}; }};
}

}  // namespace

std::vector<StrategyEntry> local_sgd_entries() {
  return {
      entry({.name = "local_sgd",
             .summary = "Local SGD: models become their mean every tau steps",
             .tau = "4"},
            local_sgd),
      entry({.name = "post_local_sgd",
             .summary = "post-local SGD: synchronous SGD first, then local SGD",
             .tau = "4",
             .warmup = "100"},
            local_sgd),
      entry({.name = "slowmo",
             .summary = "SlowMo: local SGD whose mean moves a slow model with momentum",
             .tau = "48",
             .keys = {momentum_key("beta", "0.5"),
                      number_key("slow_lr", "1", "learning rate of the slow model")}},
            slowmo),
      entry({.name = "easgd",
             .summary = "elastic averaging: models and an anchor pull one another",
             .tau = "2",
             .keys = {alpha_key(kElasticAlpha),
                      choice_key("overlap", "none",
                                 "round: the anchor travels during the next round; same parameters",
                                 {"none", "round"})}},
            easgd),
      entry({.name = "cocod",
             .summary = "CoCoD-SGD: the mean arrives a round late, local progress is kept",
             .tau = "2",
             .statistics = "keep"},
            cocod),
      entry({.name = "overlap_local_sgd",
             .summary = "Overlap-Local-SGD: models are pulled back to an anchor that travels "
                        "during the next round",
             .tau = "2",
             .statistics = "keep",
             .keys = {form_key(), alpha_key("0.6"),
                      in_two_forms(momentum_key("beta", "0.7"), "0", ""),
                      choice_key("cap_rescale", "off",
                                 "on: a rising learning rate does not scale the momentum up",
                                 {"off", "on"})}},
            overlap_local_sgd),
      entry({.name = "diloco",
             .summary = "DiLoCo: long rounds whose mean change moves the model with Nesterov "
                        "momentum",
             .tau = "500",
             .keys = {number_key("outer_lr", "0.7", "learning rate of the outer model"),
                      momentum_key("outer_momentum", "0.9")}},
            diloco),
  };
}

}  // namespace huddle
