#include "huddle/strategy/registry.h"

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/ad_psgd/ad_psgd.h"
#include "huddle/strategy/bsp/bsp.h"
#include "huddle/strategy/ds_sync/ds_sync.h"
#include "huddle/strategy/eager/eager.h"
#include "huddle/strategy/local_sgd/presets.h"
#include "huddle/strategy/p_reduce/p_reduce.h"
#include "huddle/strategy/parameter_server/asp.h"
#include "huddle/strategy/random_groups/random_groups.h"
#include "huddle/strategy/sesgd/sesgd.h"
#include "huddle/strategy/shared_keys.h"
#include "huddle/strategy/warmup.h"

namespace huddle {
namespace {

bool takes(const StrategyEntry& entry, const char* key) {
  return std::ranges::find(entry.info.keys, key, &KeyInfo::name) != entry.info.keys.end();
}

// All strategies. A new one adds a line.
std::vector<StrategyEntry> make_entries() {
  std::vector<StrategyEntry> entries = {bsp_entry(),   ds_sync_entry(),       sesgd_entry(),
                                        asp_entry(),   ssp_entry(),           ad_psgd_entry(),
                                        eager_entry(), random_groups_entry(), p_reduce_entry()};
  for (StrategyEntry& entry : local_sgd_entries()) entries.push_back(std::move(entry));
  for (StrategyEntry& entry : entries) {
    if (!takes(entry, "warmup") && entry.info.name != "bsp")
      entry.info.keys.push_back(warmup_key());
  }
  return entries;
}

// Each worker of a run asks for them, so the table is made once.
const std::vector<StrategyEntry>& entries() {
  static const std::vector<StrategyEntry> entries = make_entries();
  return entries;
}

// Throws UsageError that says more than that the key is unknown.
void refuse_balance(const StrategyEntry& entry) {
  std::vector<std::string> names;
  for (const StrategyEntry& each : entries())
    if (takes(each, "balance")) names.push_back(each.info.name);
  throw UsageError(concat("strategy '", entry.info.name, "' has no balance: ", entry.why_no_balance,
                          ". Leave balance out, or use one of ", joined(names), "; for example ",
                          names.back(), ":balance=on."));
}

// The entry that `spec` names and its options, all validated.
std::pair<const StrategyEntry&, Options> resolve(std::string_view spec) {
  const Spec parsed = parse_spec(spec);
  for (const StrategyEntry& entry : entries()) {
    if (entry.info.name != parsed.name) continue;
    if (parsed.values.contains("balance") && !takes(entry, "balance")) refuse_balance(entry);
    return {entry, Options("strategy", entry.info, parsed)};
  }
  find_info("strategy", known_strategies(), parsed.name);  // Throws.
  throw LogicError("a known strategy has no entry");
}

// What the context knows of its setting.
StrategySetting setting_of(const StrategyContext& context) {
  StrategySetting setting{.clip_norm = context.clip_norm,
                          .steps = context.steps,
                          .type = context.replica.parameters().scalar_type()};
  setting.cluster.workers = context.endpoint.workers();
  setting.cluster.topology = *context.averaging.topology;
  const UpdateRule* const rule = context.replica.rule();
  setting.update = rule != nullptr ? std::optional(rule->options()) : std::nullopt;
  return setting;
}

}  // namespace

std::vector<SpecInfo> known_strategies() {
  std::vector<SpecInfo> known;
  for (const StrategyEntry& entry : entries()) known.push_back(entry.info);
  return known;
}

Traits traits_of(std::string_view spec) {
  const auto [entry, options] = resolve(spec);
  return entry.traits(options);
}

Schedule schedule_of(std::string_view spec, const StrategySetting& setting) {
  const auto [entry, options] = resolve(spec);
  if (!entry.schedule)
    throw UsageError(concat("strategy '", entry.info.name, "' (", entry.info.summary,
                            ") has no schedule of groups. Strategies that have one: ",
                            joined(strategies_with_schedule()), "; for example ds_sync."));
  return entry.schedule(options_of(spec, setting), setting);
}

std::vector<std::string> strategies_with_schedule() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : entries())
    if (entry.schedule) names.push_back(entry.info.name);
  return names;
}

Options options_of(std::string_view spec, const StrategySetting& setting) {
  auto [entry, options] = resolve(spec);
  entry.settle(options, setting);
  return options;
}

std::string settled(std::string_view spec, const StrategySetting& setting) {
  const auto [entry, open] = resolve(spec);
  const Options options = options_of(spec, setting);
  Spec told = parse_spec(spec);
  for (const KeyInfo& key : entry.info.keys)
    if (open.text(key.name) != options.text(key.name))
      told.values[key.name] = options.text(key.name);
  return to_string(told);
}

std::string settled(std::string_view spec, const StrategyContext& context) {
  return settled(spec, setting_of(context));
}

bool depends_on_form(std::string_view spec, const StrategySetting& setting) {
  const auto [entry, open] = resolve(spec);
  if (!takes(entry, "form") || open.is_given("form")) return false;
  Spec published = parse_spec(spec);
  published.values["form"] = "paper";
  const Options ours = options_of(spec, setting);
  const Options theirs = options_of(to_string(published), setting);
  return std::ranges::any_of(entry.info.keys, [&](const KeyInfo& key) {
    return key.name != "form" && ours.text(key.name) != theirs.text(key.name);
  });
}

MakeStrategy prepare_strategy(std::string_view spec, const StrategySetting& setting) {
  auto [entry, options] = resolve(spec);
  entry.settle(options, setting);
  if (options.has("wire")) check_type(options, setting.type);
  return prepare_with_warmup(entry, options, setting);
}

std::unique_ptr<Strategy> make_strategy(std::string_view spec, const StrategyContext& context) {
  return prepare_strategy(spec, setting_of(context))(context);
}

}  // namespace huddle
