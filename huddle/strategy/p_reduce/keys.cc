#include <charconv>
#include <optional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/p_reduce/p_reduce.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

SpecInfo info() {
  return {
      .name = "p_reduce",
      .summary = "average with whoever is ready: the first few form a group, nobody waits for all",
      .keys = {form_key(),
               in_two_forms({.name = "group",
                             .fallback = "3",
                             .help = "how many workers average together",
                             .minimum = 2,
                             .maximum = 1 << 20},
                            kAuto,
                            "; auto: 2 for up to 4 workers, else the largest of 4, 3, 2 that "
                            "divides them, or 3"),
               in_two_forms(choice_key("weights", "dynamic",
                                       "dynamic: models that are behind count less; constant: all "
                                       "count alike",
                                       {"dynamic", "constant"}),
                            "constant", ""),
               choice_key("policy", "member",
                          "of dynamic weights: who gets the share of ages that no member has",
                          {"member", "forward", "skip", "stalest"}),
               {.name = "decay",
                .type = KeyInfo::Type::number,
                .fallback = "0.9",
                .help = "of dynamic weights: what a model counts for each step that it is behind",
                .maximum = 1,
                .ends = KeyInfo::Ends::excluded},
               choice_key("hide", "none",
                          "step: a worker goes on while its group meets; needs weights=constant "
                          "(ours)",
                          {"none", "step"}),
               balance_key(),
               choice_key("filter", "on", "on: groups are changed where they would isolate workers",
                          {"on", "off"}),
               {.name = "window",
                .type = KeyInfo::Type::text,
                .fallback = "auto",
                .help = "of the filter: how many groups must connect all workers, or auto"},
               choice_key("algorithm", "default",
                          "how a group averages; default: pair for 2, halving_doubling up to 128 "
                          "kB, else ring",
                          {"default", "ring", "halving_doubling", "direct"}),
               wire_key("bf16: models travel in half the bytes, and what rounding loses stays with "
                        "its worker (ours); int8: in a quarter, for group=2 (Moniqua)",
                        {"float", "bf16", "int8"})},
  };
}

// Groups of four alone reached the target with every seed in all cases that were measured, and
// groups that do not divide the workers keep some of them waiting where all are equally fast: 3 of
// 8 go at 0.71 of the pace of an all-reduce, 4 at 0.82 (docs/results/p_reduce_heterogeneous.md). No
// such divisor: as published. A group of everybody would wait for the slowest: two of up to four.
void settle(Options& options, const StrategySetting& setting) {
  const int workers = setting.cluster.workers;
  options.settle("group", workers <= 4       ? "2"
                          : workers % 4 == 0 ? "4"
                          : workers % 3 == 0 ? "3"
                          : workers % 2 == 0 ? "2"
                                             : "3");
}

// Throws UsageError where a run would be over before its first group met: everybody reports one
// step less than it takes.
void check_hide(const Options& options, const StrategySetting& setting) {
  const std::int64_t warmup = options.integer("warmup");
  if (setting.steps - warmup != 1) return;
  throw UsageError(
      concat("hide=step lets a group meet during the step after, and the run has 1 step",
             warmup > 0 ? " after its warm-up" : "",
             ", so workers would never exchange anything; give --steps ", warmup + 2,
             " or more, or leave hide out."));
}

// 0 stands for `auto`.
int window_of(const Options& options) {
  const std::string& text = options.text("window");
  if (text == "auto") return 0;
  int window = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), window);
  if (error != std::errc() || end != text.data() + text.size() || window < 1)
    throw UsageError(concat("strategy 'p_reduce': window='", text,
                            "' is neither a number of groups, 1 or more, nor 'auto'."));
  return window;
}

GroupFormerOptions former_options(const Options& options, int workers) {
  return {.workers = workers,
          .group = static_cast<int>(options.integer("group")),
          .filter = options.text("filter") == "on" ? GroupFormerOptions::Filter::on
                                                   : GroupFormerOptions::Filter::off,
          .window = window_of(options)};
}

GapPolicy policy_of(const std::string& name) {
  return name == "member"    ? GapPolicy::member
         : name == "forward" ? GapPolicy::forward
         : name == "skip"    ? GapPolicy::skip
                             : GapPolicy::stalest;
}

WeightRule weight_rule(const Options& options) {
  if (options.text("weights") == "constant") return std::nullopt;
  return DynamicWeights{.policy = policy_of(options.text("policy")),
                        .decay = options.number("decay")};
}

MakeStrategy prepare(const Options& options, const StrategySetting& setting) {
  const PReduceOptions chosen{
      .controller = {.former = former_options(options, setting.cluster.workers),
                     .weights = weight_rule(options),
                     .balances = balances(options, setting)},
      .algorithm = parse_algorithm(options.text("algorithm")),
      .wire = wire_of(options)};
  const GroupFormer checked(chosen.controller.former);
  if (!chosen.controller.weights)
    for (const char* key : {"policy", "decay"})
      refuse_idle(options, key,
                  "weights=constant lets all members count alike; use weights=dynamic");
  check_pairs(options, static_cast<int>(options.integer("group")));
  const bool hides = options.text("hide") == "step";
  if (hides && chosen.controller.weights)
    throw UsageError(
        "hide=step keeps the mean of all models only where all members of a group count alike: add "
        "weights=constant.");
  if (hides) check_hide(options, setting);
  if (options.text("filter") == "off")
    refuse_idle(options, "window", "filter=off looks at no groups of the past; use filter=on");
  return [chosen,
          make = hides ? make_hidden_p_reduce : make_p_reduce](const StrategyContext& context) {
    if (context.steps < 1)
      throw UsageError(
          "p_reduce ends a run by the steps of all workers together, so it must know how many each "
          "is to take: set AttachOptions::steps, for example to 1000.");
    return make(chosen, context);
  };
}

}  // namespace

StrategyEntry p_reduce_entry() {
  return {.info = info(), .settle = settle, .prepare = prepare, .traits = [](const Options&) {
            return Traits{.pace = Pace::own, .survives_loss = true};
          }};
}

}  // namespace huddle
