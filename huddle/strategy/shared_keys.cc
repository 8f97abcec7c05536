#include "huddle/strategy/shared_keys.h"

#include <algorithm>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

WireFormat wire_format(const std::string& name) {
  return name == "bf16" ? WireFormat::bf16 : name == "int8" ? WireFormat::int8 : WireFormat::full;
}

}  // namespace

KeyInfo choice_key(const char* name, const char* fallback, const char* help,
                   std::vector<std::string> choices) {
  return {.name = name,
          .type = KeyInfo::Type::choice,
          .fallback = fallback,
          .help = help,
          .choices = std::move(choices)};
}

KeyInfo form_key() {
  return choice_key("form", "ours",
                    "paper: keys that are not given are as published; ours: as measured best",
                    {"ours", "paper"});
}

KeyInfo in_two_forms(KeyInfo key, std::string_view ours, const char* help) {
  key.published = std::exchange(key.fallback, ours);
  if (ours == kAuto) key.choices.insert(key.choices.begin(), std::string(kAuto));
  key.help += help;
  return key;
}

KeyInfo algorithm_key() {
  return choice_key(
      "algorithm", "default",
      "how a group averages; default: pair for 2, halving_doubling up to 128 kB, else "
      "ring",
      algorithm_names());
}

KeyInfo seed_key(const char* help) { return {.name = "seed", .fallback = "0", .help = help}; }

void refuse_idle(const Options& options, const char* key, const std::string& reason) {
  if (!options.is_given(key)) return;
  throw UsageError(concat(key, "=", options.text(key), " would do nothing: ", reason, ", or leave ",
                          key, " out."));
}

KeyInfo global_every_key() {
  return {.name = "global_every",
          .fallback = "0",
          .help = "one average of all workers at every so-manieth meeting; 0: never",
          .maximum = 10000};
}

KeyInfo slots_key() {
  return choice_key(
      "slots", "keep",
      "optimizer state in a group: kept by each worker (as published), averaged, or reset",
      {"keep", "average", "reset"});
}

KeyInfo wire_key(const char* help, std::vector<std::string> formats) {
  return choice_key("wire", "float", help, std::move(formats));
}

WireFormat wire_of(const Options& options) { return wire_format(options.text("wire")); }

KeyInfo slots_wire_key() {
  return choice_key(
      "slots_wire", "same",
      "of slots=average; same: as wire; int8: a byte a number, with a scale for every "
      "4,096 (ours)",
      {"same", "float", "bf16", "int8"});
}

std::optional<WireFormat> slots_wire_of(const Options& options) {
  const std::string& text = options.text("slots_wire");
  if (text == "same") return std::nullopt;
  return wire_format(text);
}

void check_type(const Options& options, at::ScalarType type) {
  if (wire_of(options) == WireFormat::bf16 && type == at::kBFloat16)
    throw UsageError("wire=bf16 would do nothing: this model is bfloat16 already; leave wire out.");
}

void check_pairs(const Options& options, int largest_group) {
  if (wire_of(options) != WireFormat::int8 || largest_group <= 2) return;
  throw UsageError(concat(
      "wire=int8 sends only what two near models differ by, so it needs pairs, and groups of ",
      largest_group,
      " would meet: use random_groups:group=2 or p_reduce:group=2, sesgd with 2, 4, 8, ... "
      "workers, or wire=bf16."));
}

SlotPolicy slot_policy(const Options& options) {
  const std::string& text = options.text("slots");
  return text == "keep"      ? SlotPolicy::keep
         : text == "average" ? SlotPolicy::average
                             : SlotPolicy::reset;
}

void check_slots(const Options& options, const StrategySetting& setting) {
  const SlotPolicy policy = slot_policy(options);
  // `same` says nothing, and is what an open key comes to.
  if (policy != SlotPolicy::average && options.text("slots_wire") != "same")
    refuse_idle(options, "slots_wire",
                concat("slots=", options.text("slots"),
                       " lets no optimizer state travel; use slots=average"));
  if (policy == SlotPolicy::keep) return;
  if (!setting.update)
    throw UsageError(concat("slots=", options.text("slots"),
                            " treats the optimizer's state, and this optimizer keeps its own: use "
                            "slots=keep, or SGD, Adam or AdamW with one parameter group."));
  const std::vector<std::string> slots = UpdateRule(*setting.update).slot_names();
  if (slots.empty())
    throw UsageError(concat("slots=", options.text("slots"),
                            " needs an optimizer that has slots; sgd without momentum has none. "
                            "Use slots=keep, or --momentum 0.9."));
  const bool is_coarse = slots_wire_of(options).value_or(wire_of(options)) == WireFormat::int8;
  if (policy == SlotPolicy::average && is_coarse &&
      std::ranges::find(slots, UpdateRule::kSecondMoments) != slots.end())
    throw UsageError(
        concat("slots_wire=", options.text("slots_wire"), " with wire=", options.text("wire"),
               " sends optimizer state as int8, which rounds small second moments to nothing, and "
               "Adam divides by them: use slots_wire=bf16."));
}

KeyInfo balance_key() {
  return choice_key("balance", "off",
                    "on: who takes fewer steps learns at a higher rate, so that all are heard "
                    "alike (ours)",
                    {"off", "on"});
}

bool balances(const Options& options, const StrategySetting& setting) {
  if (options.text("balance") == "off") return false;
  if (setting.update) return true;
  throw UsageError(
      "balance=on scales the learning rate of each step, and this optimizer is the user's own: "
      "leave balance out, or use SGD, Adam or AdamW with one parameter group.");
}

void require_rule(const StrategySetting& setting, const std::string& what) {
  if (setting.update) return;
  throw UsageError(
      concat(what,
             ", so it must know the update rule, and this optimizer is the user's own: "
             "use SGD, Adam or AdamW with one parameter group, without dampening and "
             "amsgrad; or a strategy that leaves the step to the optimizer, for "
             "example ds_sync."));
}

bool fits_every_group(Algorithm algorithm) {
  return algorithm == Algorithm::automatic || algorithm == Algorithm::ring ||
         algorithm == Algorithm::scattered_ring || algorithm == Algorithm::direct;
}

void check_algorithm(Algorithm algorithm, const Group& group, const Cluster& cluster) {
  if (fits_every_group(algorithm) || group.size() < 2) return;
  make_plan(choose(algorithm, group.size(), 0), 0, racks_of(group, cluster.topology));
}

}  // namespace huddle
