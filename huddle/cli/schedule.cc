// `huddle schedule`: who averages with whom, how fast that mixes, and what it sends.

#include "huddle/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cli/commands.h"
#include "huddle/cli/number_option.h"
#include "huddle/cli/train/train_config.h"
#include "huddle/cluster/cluster.h"
#include "huddle/cluster/cluster_file.h"
#include "huddle/report/format.h"
#include "huddle/report/table.h"
#include "huddle/schedule/mixing.h"
#include "huddle/schedule/traffic.h"
#include "huddle/strategy/registry.h"

namespace huddle {
namespace {

constexpr double kMomentum = 0.9;        // Of the predictions with momentum.
constexpr std::size_t kColumns = 88;     // Of printed lines, where groups allow.
constexpr int kMostListed = 64;          // Workers up to which every group is printed.
constexpr int kMostPictured = 20;        // Workers up to which the picture fits a line.
constexpr int kMostPhases = 16;          // Phases printed.
constexpr int kMostNumbers = 1 << 18;    // Workers times phases in JSON.
constexpr int kRandomSteps = 4;          // Steps shown of groups that never repeat.
constexpr std::size_t kFirstGroups = 3;  // Groups printed of a large phase.

struct ScheduleConfig {
  std::string strategy;
  std::string settled;  // With what it left open filled in.
  int workers = 8;
  std::string racks;
  std::string cluster;
  bool as_json = false;
};

Cluster cluster_of(const ScheduleConfig& config) {
  if (!config.cluster.empty()) return read_cluster_file(config.cluster);
  Cluster cluster;
  cluster.workers = config.workers;
  cluster.topology = parse_racks(config.racks, config.workers);
  return cluster;
}

// What the strategy leaves open comes to what `huddle train` does by default.
StrategySetting setting_of(const ScheduleConfig& config) {
  return {.cluster = cluster_of(config), .update = update_of(TrainConfig())};
}

void refuse_never_mixing(const ScheduleConfig& config, const Mixing& mixing) {
  if (!mixing.never_mixes) return;
  throw UsageError(fmt::format(
      "{} on {} workers never mixes: some workers never hear of some others, so their models drift "
      "apart. Choose schedule=grid, or add global_every={}.",
      config.strategy, config.workers, std::max(2, config.workers)));
}

std::int64_t steps_shown(const Schedule& schedule) {
  return schedule.period() == 0 ? kRandomSteps : schedule.period();
}

// What momentum does to spread is worked out for groups that meet at every step, at once.
bool knows_momentum(const Schedule& schedule) {
  return schedule.meetings().every == 1 && !schedule.meetings().late;
}

// All phases of a period, or the first ones where they would fill more than a file.
nlohmann::json phases_json(const Schedule& schedule) {
  nlohmann::json phases = nlohmann::json::array();
  const std::int64_t listed = std::min(
      steps_shown(schedule), std::max<std::int64_t>(1, kMostNumbers / schedule.members().size()));
  for (std::int64_t phase = 0; phase < listed; ++phase) {
    nlohmann::json groups = nlohmann::json::array();
    for (const Group& group : schedule.phase(phase)) {
      nlohmann::json& members = groups.emplace_back(nlohmann::json::array());
      for (const WorkerId worker : group) members.push_back(worker.value);
    }
    phases.push_back(std::move(groups));
  }
  return phases;
}

void print_json(const ScheduleConfig& config, const Schedule& schedule, const Mixing& mixing) {
  using Json = nlohmann::ordered_json;
  const ScheduleTraffic traffic = schedule_traffic(schedule);
  const auto with_momentum = [&](double variance) {
    return knows_momentum(schedule) ? Json(variance) : Json();
  };
  const Json json = {
      {"strategy", config.strategy},
      {"settled", config.settled},
      {"workers", config.workers},
      {"period", schedule.period() > 0 ? Json(schedule.period()) : Json()},
      {"phases", phases_json(schedule)},
      {"exact_consensus_steps", mixing.exact_window ? Json(*mixing.exact_window) : Json()},
      {"mixing_factor", mixing.mixing_factor},
      {"every", schedule.meetings().every},
      {"hidden", schedule.meetings().late},
      {"deviation_variance", deviation_at_meetings(schedule, *mixing.deviation)},
      {"deviation_variance_momentum_local", with_momentum(mixing.deviation->local_momentum)},
      {"deviation_variance_momentum_averaged", with_momentum(mixing.deviation->averaged_momentum)},
      {"bytes_per_step_over_model_bytes", traffic.bytes},
      {"sequential_messages", traffic.sequential_messages},
      {"note", schedule.note()}};
  fmt::print("{}\n", json.dump());
}

std::string text_of(const Group& group) {
  constexpr int kWhole = 16;  // Members up to which a group is written out.
  std::vector<std::string> members;
  for (int i = 0; i < group.size(); ++i) {
    if (group.size() > kWhole && i == 3) members.emplace_back("...");
    if (group.size() <= kWhole || i < 3 || i + 1 == group.size())
      members.push_back(std::to_string(group[i].value));
  }
  return fmt::format("{{{}}}", joined(members, " "));
}

// "{0 1} {2 3} ..." in lines that continue under the first group; of many workers the first groups.
std::string groups_text(const Partition& partition, std::size_t indent, int workers) {
  const std::size_t shown =
      workers > kMostListed ? std::min(kFirstGroups, partition.size()) : partition.size();
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string group = text_of(partition[i]);
    if (i > 0 && column + group.size() >= kColumns) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      text += " ";
    }
    text += group;
    column += group.size() + 1;
  }
  return shown < partition.size() ? text + " ..." : text;
}

// "32 groups of 32", "1 of 4, 2 of 3".
std::string sizes_text(const Partition& partition) {
  std::map<int, int, std::greater<>> counts;
  for (const Group& group : partition) ++counts[group.size()];
  std::vector<std::string> parts;
  for (const auto& [size, count] : counts)
    parts.push_back(fmt::format("{} {}of {}", count,
                                counts.size() > 1 ? ""
                                : count == 1      ? "group "
                                                  : "groups ",
                                size));
  return joined(parts);
}

void print_phases(const Schedule& schedule) {
  const char* word = schedule.period() == 0 ? "step" : "phase";
  const int workers = schedule.members().size();
  const std::int64_t shown = std::min<std::int64_t>(steps_shown(schedule), kMostPhases);
  for (std::int64_t phase = 0; phase < shown; ++phase) {
    const Partition partition = schedule.phase(phase);
    std::string head = fmt::format("{} {:<3}", word, phase);
    if (workers > kMostListed) head += fmt::format("{}: ", sizes_text(partition));
    fmt::print("{}{}\n", head, groups_text(partition, head.size(), workers));
  }
  if (shown < steps_shown(schedule))
    fmt::print("and {} phases more\n", steps_shown(schedule) - shown);
}

// One letter for each group, one column for each worker; a worker alone is a dot.
void print_picture(const Schedule& schedule) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  const int workers = schedule.members().size();
  if (workers > kMostPictured) return;
  std::vector<Table::Column> columns = {{.header = "worker"}};
  for (int worker = 0; worker < workers; ++worker)
    columns.push_back({.header = std::to_string(worker), .align = Table::Align::right});
  Table table(columns);
  const char* word = schedule.period() == 0 ? "step" : "phase";
  const std::int64_t shown = std::min<std::int64_t>(steps_shown(schedule), kMostPhases);
  for (std::int64_t phase = 0; phase < shown; ++phase) {
    std::vector<std::string> cells(static_cast<std::size_t>(workers) + 1, ".");
    cells[0] = fmt::format("{} {}", word, phase);
    std::size_t letter = 0;
    for (const Group& group : schedule.phase(phase)) {
      if (group.size() == 1) continue;
      for (const WorkerId worker : group)
        cells[static_cast<std::size_t>(worker.value) + 1] = kLetters[letter];
      ++letter;
    }
    table.add_row(cells);
  }
  fmt::print("{}\n", table.text());
}

std::string agreement_text(const Schedule& schedule, const Mixing& mixing) {
  const char* const steps = schedule.meetings().every > 1 ? "meetings" : "steps";
  if (mixing.exact_window == 1)
    return fmt::format("exact after every {}", schedule.meetings().every > 1 ? "meeting" : "step");
  if (mixing.exact_window)
    return fmt::format("exact after any {} {} in a row", *mixing.exact_window, steps);
  return fmt::format("{} of a disagreement is left after {}", format_percent(mixing.mixing_factor),
                     schedule.period() == 0
                         ? "one step, on average"
                         : fmt::format("a period of {} steps", schedule.period()));
}

void print_analysis(const ScheduleConfig& config, const Schedule& schedule, const Mixing& mixing) {
  fmt::print("\nAgreement: {}.\n", agreement_text(schedule, mixing));
  fmt::print(
      "Predicted spread of the workers' models, as variance over (learning rate x noise)^2:\n");
  Table spread({{}, {.header = "", .align = Table::Align::right}});
  spread.add_row(
      {"  plain SGD", format_figure(deviation_at_meetings(schedule, *mixing.deviation))});
  if (knows_momentum(schedule)) {
    spread.add_row({fmt::format("  momentum {}, kept by each worker", kMomentum),
                    format_figure(mixing.deviation->local_momentum)});
    spread.add_row({fmt::format("  momentum {}, averaged too", kMomentum),
                    format_figure(mixing.deviation->averaged_momentum)});
  }
  fmt::print("{}\n", spread.text());

  const ScheduleTraffic traffic = schedule_traffic(schedule);
  const Traffic bsp = ring_traffic(config.workers);
  const auto right = Table::Align::right;
  Table cost({{.header = "per worker and step"},
              {.header = parse_spec(config.strategy).name, .align = right},
              {.header = "bsp (ring)", .align = right}});
  cost.add_row(
      {"bytes sent, over the model's", format_figure(traffic.bytes), format_figure(bsp.bytes)});
  cost.add_row(
      {"  in the worst step", format_figure(traffic.worst_bytes), format_figure(bsp.bytes)});
  cost.add_row({"messages one after another", fmt::format("{:.4g}", traffic.sequential_messages),
                std::to_string(bsp.messages)});
  fmt::print("{}", cost.text());
  if (config.settled != config.strategy)
    fmt::print("Counted for {}, which SGD with momentum gets.\n", config.settled);
}

void print_text(const ScheduleConfig& config, const Schedule& schedule, const Mixing& mixing) {
  fmt::print("{} on {} worker{}: ", config.strategy, config.workers,
             config.workers == 1 ? "" : "s");
  if (schedule.period() == 0) {
    fmt::print("new random groups in every step; the first {} steps\n", kRandomSteps);
  } else {
    fmt::print("{} phase{}, then again\n", schedule.period(), schedule.period() == 1 ? "" : "s");
  }
  if (const std::int64_t every = schedule.meetings().every; every > 1)
    fmt::print("Groups meet after every {} steps; a phase or step here is a meeting.\n", every);
  if (schedule.meetings().late)
    fmt::print("What a group averages travels until its members' next meeting (hide=step).\n");
  if (!schedule.note().empty())
    for (const std::string& line : wrapped("Note: " + schedule.note(), kColumns))
      fmt::print("{}\n", line);
  fmt::print("\n");
  print_picture(schedule);
  print_phases(schedule);
  print_analysis(config, schedule, mixing);
}

}  // namespace

void add_schedule_command(CLI::App& program, int& status) {
  CLI::App* command = program.add_subcommand(
      "schedule", "Shows who averages with whom, how fast that mixes, and what it sends");
  command->footer(
      "Examples:\n  huddle schedule ds_sync --workers 16\n  huddle schedule "
      "ds_sync:schedule=rotating --workers 8 --racks 2x4\n  huddle schedule ds_sync --cluster "
      "clusters/oversubscribed_racks.toml\n  huddle schedule sesgd --workers 16 --json");
  const auto config = std::make_shared<ScheduleConfig>();
  command
      ->add_option("strategy", config->strategy,
                   fmt::format("{}, with keys", joined(strategies_with_schedule())))
      ->required();
  command->add_option("--workers", config->workers, "how many train")->capture_default_str();
  command->add_option("--racks", config->racks,
                      "racks x workers per rack, as 2x4, or the workers of each, as 4+4+2");
  command
      ->add_option("--cluster", config->cluster,
                   "a cluster file: workers, racks and how fast their links are")
      ->excludes("--workers", "--racks");
  command->add_flag("--json", config->as_json, "for programs: one JSON object");
  add_ranges(*command, std::vector<NumberOption>{
                           {.name = "--workers", .least = 1, .most = 1 << 20, .example = "8"}});
  command->callback([config, &status] {
    const StrategySetting setting = setting_of(*config);
    config->workers = setting.cluster.workers;
    const Schedule schedule = schedule_of(config->strategy, setting);
    prepare_strategy(config->strategy, setting);
    config->settled = settled(config->strategy, setting);
    const Mixing mixing = analyse_mixing(schedule, kMomentum);
    refuse_never_mixing(*config, mixing);
    (config->as_json ? print_json : print_text)(*config, schedule, mixing);
    status = 0;
  });
}

}  // namespace huddle
