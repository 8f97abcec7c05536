#include "huddle/cli/train/train_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <tuple>

#include "huddle/api/engine.h"
#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"
#include "huddle/cluster/cluster_file.h"
#include "huddle/cluster/cluster_problems.h"
#include "huddle/schedule/schedule_options.h"
#include "huddle/train/optimizer.h"

namespace huddle {
namespace {

// How an option is written. Numbers have so few digits that no conversion overflows.
struct Form {
  const char* pattern;
  const char* shown;
};
constexpr Form kSlow{R"((\d{1,9}):(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))",
                     "WORKER:FACTOR, as 3:2.5"};
constexpr Form kKill{R"((\d{1,9})@(\d{1,18})(?:\+(\d{1,9}))?)",
                     "WORKER@STEP or WORKER@STEP+OPERATIONS, as 2@50 or 2@50+3"};

// The parts of a text such as "3:2.5" or "2@50+4" that the pattern names.
std::smatch parts_of(const char* option, const std::string& text, const Form& form) {
  std::smatch parts;
  if (!std::regex_match(text, parts, std::regex(form.pattern)))
    throw UsageError(concat(option, " ", text, " is not of the form ", form.shown, "."));
  return parts;
}

// In simulation nothing is free: what no option says is as in clusters/lan.toml, a plain LAN.
constexpr std::tuple<const char*, std::string TrainConfig::*, const char*> kPlainLan[] = {
    {"compute", &TrainConfig::compute, "35ms"},
    {"latency", &TrainConfig::latency, "0.1ms"},
    {"bandwidth", &TrainConfig::bandwidth, "10Gbps"}};

// Other options, another name: reports compare what is alike. Says what is assumed.
std::string name_of_options(const TrainConfig& config) {
  const bool is_lan = is_simulated(config.engine);
  std::vector<std::string> parts;
  if (is_lan) parts.emplace_back("plain LAN");
  if (!config.racks.empty()) parts.push_back("racks " + config.racks);
  for (const auto& [name, option, assumed] : kPlainLan)
    if (const std::string& given = config.*option; is_lan || !given.empty())
      parts.push_back(concat(name, " ", given.empty() ? concat(assumed, " (assumed)") : given));
  if (!config.slow.empty()) parts.push_back("slow " + joined(config.slow, ", "));
  if (config.jitter > 0) parts.push_back(concat("jitter ", config.jitter));
  return joined(parts, ", ");
}

// What the options describe.
Cluster cluster_of_options(TrainConfig config) {
  Cluster cluster;
  cluster.workers = config.workers;
  cluster.name = name_of_options(config);
  if (is_simulated(config.engine))
    for (const auto& [name, option, assumed] : kPlainLan)
      if ((config.*option).empty()) config.*option = assumed;
  cluster.jitter = config.jitter;
  cluster.topology = parse_racks(config.racks, config.workers);
  if (!config.compute.empty())
    cluster.compute_per_step = parse_seconds("--compute", config.compute);
  if (!config.latency.empty())
    cluster.topology.latency_in_rack = parse_seconds("--latency", config.latency);
  if (!config.bandwidth.empty())
    cluster.topology.nic_bytes_per_second = parse_bandwidth("--bandwidth", config.bandwidth);
  cluster.topology.latency_between_racks = cluster.topology.latency_in_rack;
  for (const std::string& text : config.slow) {
    const std::smatch parts = parts_of("--slow", text, kSlow);
    cluster.slowdowns.push_back({.worker = WorkerId{std::stoi(parts[1])},
                                 .factor = std::strtod(parts.str(2).c_str(), nullptr)});
  }
  for (const std::string& text : config.kill) {
    const std::smatch parts = parts_of("--kill", text, kKill);
    cluster.deaths.push_back({.worker = WorkerId{std::stoi(parts[1])},
                              .step = Step{std::stoll(parts[2])},
                              .after_operations = parts[3].matched ? std::stoi(parts[3]) : 0});
  }
  for (const Death& death : cluster.deaths)
    if (std::count_if(cluster.deaths.begin(), cluster.deaths.end(),
                      [&](const Death& other) { return other.worker == death.worker; }) > 1)
      throw UsageError(concat("--kill names worker ", death.worker.value, " twice; it dies once."));
  return cluster;
}

// Those that were typed.
std::string network_options(const TrainConfig& config) {
  std::vector<std::string> typed;
  if (!config.latency.empty()) typed.push_back(concat("--latency ", config.latency));
  if (!config.bandwidth.empty()) typed.push_back(concat("--bandwidth ", config.bandwidth));
  return typed.empty() ? "" : concat(joined(typed), ": ");
}

// Throws UsageError with all that is wrong with it, under the options that say so.
void check_cluster(const TrainConfig& config, const Cluster& cluster) {
  using Part = ClusterProblem::Part;
  std::vector<std::string> sentences;
  for (const ClusterProblem& problem : find_problems(cluster)) {
    std::string option;
    if (problem.part == Part::model && !config.wire.empty())
      option = concat("--wire ", config.wire, ": ");
    if (config.cluster.empty()) {
      if (problem.part == Part::slowdown)
        option = concat("--slow ", config.slow.at(problem.index), ": ");
      if (problem.part == Part::death)
        option = concat("--kill ", config.kill.at(problem.index), ": ");
      if (problem.part == Part::network) option = network_options(config);
      if (problem.part == Part::compute) option = "--compute, --jitter: ";
    }
    sentences.push_back(option + problem.sentence);
  }
  if (!sentences.empty()) throw UsageError(joined(sentences, "\n"));
}

}  // namespace

Cluster cluster_of(const TrainConfig& config) {
  Cluster cluster =
      config.cluster.empty() ? cluster_of_options(config) : read_cluster_file(config.cluster);
  cluster.seed = static_cast<std::uint64_t>(config.seed);
  if (!config.wire.empty()) cluster.wire_bytes = parse_wire("--wire", config.wire);
  check_cluster(config, cluster);
  return cluster;
}

ProblemOptions problem_of(const TrainConfig& config) {
  std::filesystem::path directory = config.data_directory;
  const char* home = std::getenv("HOME");
  if (config.data_directory.starts_with("~/") && home != nullptr)
    directory = std::filesystem::path(home) / config.data_directory.substr(2);
  return {.model = config.model,
          .data = config.data,
          .data_directory = directory,
          .split = config.split,
          .workers = config.workers,
          .batch = config.batch,
          .seed = static_cast<std::uint64_t>(config.seed),
          .holdout = config.holdout};
}

UpdateOptions update_of(const TrainConfig& config) {
  static const std::vector<std::string> names(kOptimizers.begin(), kOptimizers.end());
  const auto found = std::find(names.begin(), names.end(), config.optimizer);
  if (found == names.end()) throw UsageError(unknown_value("optimizer", config.optimizer, names));
  const auto kind = static_cast<UpdateOptions::Kind>(found - names.begin());
  const bool is_sgd = kind == UpdateOptions::Kind::sgd;
  if (!is_sgd && config.nesterov)
    throw UsageError(concat("--nesterov belongs to sgd, not to ", config.optimizer, "."));
  const UpdateOptions options{.kind = kind,
                              .learning_rate = config.learning_rate,
                              .weight_decay = config.weight_decay,
                              .momentum = is_sgd ? config.momentum : 0,
                              .nesterov = config.nesterov};
  UpdateRule{options};  // Throws where torch would.
  return options;
}

}  // namespace huddle
