#include <algorithm>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/schedule/mixing.h"
#include "huddle/strategy/scheduled.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

// The keys of all strategies of this kind, beside those of their schedule.
std::vector<KeyInfo> scheduled_keys() {
  return {choice_key("order", "after",
                     "average after the local step, or before it as in the authors' vision code",
                     {"after", "before"}),
          in_two_forms(slots_key(), kAuto,
                       "; auto: averaged where they are SGD's momentum and nothing is hidden"),
          choice_key("payload", "model",
                     "gradient: the ablation that averages gradients only and drifts apart",
                     {"model", "gradient"}),
          choice_key("overlap", "none",
                     "backward: a bucket is stepped and travels while backward goes on below it",
                     {"none", "backward"}),
          choice_key("hide", "none",
                     "step: the average of a meeting travels until the next one; a step costs the "
                     "longer of computing and exchanging (ours)",
                     {"none", "step"}),
          {.name = "every",
           .fallback = "1",
           .help = "groups meet at every so-manieth step",
           .minimum = 1,
           .maximum = 10000},
          {.name = "buckets",
           .fallback = "1",
           .help = "how many buckets the model travels in",
           .minimum = 1,
           .maximum = 1000},
          choice_key("algorithm", "ring", "how a group averages; pairs always exchange directly",
                     algorithm_names()),
          in_two_forms(
              wire_key("bf16: models travel in half the bytes, and what rounding loses stays with "
                       "its worker (ours); int8: in a quarter, for pairs (Moniqua)",
                       {"float", "bf16", "int8"}),
              kAuto, "; auto: bf16 for models of float32"),
          in_two_forms(slots_wire_key(), kAuto, "; auto: int8 for SGD's momentum")};
}

// Chosen by what was measured: docs/results/hidden_groups.md. Momentum that is averaged closes the
// gap to synchronous SGD; hidden it does not help, nor do Adam's moments on a grid. Rounding costs
// nothing, but a wider or narrower type than float32 was not measured.
void settle(Options& options, const StrategySetting& setting) {
  const bool has_momentum = setting.update && setting.update->kind == UpdateOptions::Kind::sgd &&
                            setting.update->momentum > 0;
  const bool sends_momentum = has_momentum && options.text("payload") == "model";
  options.settle("slots", sends_momentum && options.text("hide") == "none" ? "average" : "keep");
  const bool is_measured = setting.type == at::kFloat;
  options.settle("wire", is_measured ? "bf16" : "float");
  const bool averages = sends_momentum && options.text("slots") == "average";
  options.settle("slots_wire", is_measured && averages ? "int8" : "same");
}

bool hides(const Options& options) { return options.text("hide") == "step"; }

ScheduledOptions scheduled_options(const Options& options) {
  return {.order = options.text("order") == "before" ? ScheduledOptions::Order::before
                                                     : ScheduledOptions::Order::after,
          .overlap = options.text("overlap") == "backward" ? ScheduledOptions::Overlap::backward
                                                           : ScheduledOptions::Overlap::none,
          .slots = slot_policy(options),
          .buckets = static_cast<int>(options.integer("buckets")),
          .algorithm = parse_algorithm(options.text("algorithm")),
          .wire = wire_of(options),
          .slots_wire = slots_wire_of(options)};
}

// Throws UsageError unless the algorithm fits every group that will ever form.
void check_groups(const Schedule& schedule, const Options& options,
                  const StrategySetting& setting) {
  const Algorithm algorithm = parse_algorithm(options.text("algorithm"));
  if (fits_every_group(algorithm)) return;  // There may be thousands of groups.
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

int largest_group(const Partition& groups) {
  int largest = 0;
  for (const Group& group : groups) largest = std::max(largest, group.size());
  return largest;
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
  require_rule(setting, "overlap=backward steps one bucket after another");
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

void check_hide(const Options& options) {
  if (options.text("overlap") == "backward")
    throw UsageError(
        "hide=step lets the whole model travel behind the next step, which overlap=backward cannot "
        "hide any further: leave overlap out.");
  if (options.text("payload") == "gradient")
    throw UsageError(
        "hide=step lets models travel, and gradients one step late do not train: use "
        "payload=model.");
  if (options.text("order") == "before")
    throw UsageError(
        "hide=step corrects models after the local step, so it goes with order=after only.");
  refuse_idle(options, "buckets",
              "hide=step lets the model travel as a whole, behind a whole step; use "
              "overlap=backward for buckets");
}

// Throws UsageError where a run would be over before its first meeting.
void check_every(const Options& options, const StrategySetting& setting) {
  const std::int64_t every = options.integer("every");
  if (options.text("payload") == "gradient")
    refuse_idle(options, "every", "payload=gradient averages at every step; use payload=model");
  const std::int64_t warmup = std::min(options.integer("warmup"), setting.steps);
  const std::int64_t left = setting.steps - warmup;
  if (left == 0 || setting.steps / every > warmup / every) return;
  throw UsageError(concat("every is ", every, ", but the run has ", left,
                          left == 1 ? " step" : " steps", warmup > 0 ? " after its warm-up" : "",
                          ", so its groups would never meet; give every=", left, " or less."));
}

// Throws UsageError where groups are too large for a format.
void check_formats(const Schedule& schedule, const Options& options) {
  if (wire_of(options) != WireFormat::int8) return;
  if (options.text("payload") == "gradient")
    throw UsageError("wire=int8 is a format of models: use wire=bf16 for payload=gradient.");
  int largest = schedule.global_every() > 0 ? schedule.members().size() : 0;
  const int phases = schedule.random() != nullptr ? 1 : schedule.turn();
  for (int phase = 0; phase < phases; ++phase)
    largest = std::max(largest, largest_group(schedule.cycle_phase(phase)));
  check_pairs(options, largest);
}

// When groups meet, and what they send then.
Schedule::Meetings meetings(const Options& options, const StrategySetting& setting) {
  const bool sends_slots = setting.update && slot_policy(options) == SlotPolicy::average;
  const int slots =
      sends_slots ? static_cast<int>(UpdateRule(*setting.update).slot_names().size()) : 0;
  const WireFormat wire = wire_of(options);
  return {.every = options.integer("every"),
          .late = hides(options),
          .bytes = bytes_over_float(wire) +
                   slots * bytes_over_float(slots_wire_of(options).value_or(wire)),
          .averages = static_cast<int>(options.integer("buckets")) * (1 + slots)};
}

MakeStrategy prepare(const Schedule& schedule, const Options& options,
                     const StrategySetting& setting) {
  check_groups(schedule, options, setting);
  check_slots(options, setting);
  check_formats(schedule, options);
  if (hides(options)) check_hide(options);
  if (options.text("overlap") == "backward") check_overlap(options, setting);
  check_every(options, setting);
  const bool by_gradients = options.text("payload") == "gradient";
  if (by_gradients) check_gradients(options);
  return [schedule, chosen = scheduled_options(options),
          make = by_gradients     ? make_scheduled_gradients
                 : hides(options) ? make_hidden_groups
                                  : make_scheduled](const StrategyContext& context) {
    return make(schedule, chosen, context);
  };
}

}  // namespace

std::map<std::string, double> schedule_figures(const Schedule& schedule, WorkerId self) {
  if (self != WorkerId{0}) return {};
  return {{"schedule.period", static_cast<double>(schedule.period())},
          {"schedule.mixing_factor", analyse_mixing(schedule, 0).mixing_factor}};
}

StrategyEntry scheduled_entry(SpecInfo info,
                              std::function<Schedule(const Options&, const Cluster&)> schedule) {
  const bool has_forms = std::ranges::find(info.keys, "form", &KeyInfo::name) != info.keys.end();
  for (KeyInfo& key : scheduled_keys()) {
    if (!has_forms && !key.published.empty()) key.fallback = std::exchange(key.published, "");
    info.keys.push_back(std::move(key));
  }
  const auto with_meetings = [schedule](const Options& options, const StrategySetting& setting) {
    return schedule(options, setting.cluster).with(meetings(options, setting));
  };
  return {.info = std::move(info),
          .settle = settle,
          .prepare =
              [with_meetings](const Options& options, const StrategySetting& setting) {
                return prepare(with_meetings(options, setting), options, setting);
              },
          .schedule = with_meetings};
}

}  // namespace huddle
