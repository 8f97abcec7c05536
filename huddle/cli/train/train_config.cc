#include "huddle/cli/train/train_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

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

// The numbers in a text such as "3:2.5" or "2@50+4", which must have the form of `pattern` ("#"
// stands for a number); the last `optional` of them may be missing together with what stands before
// them.
std::vector<double> numbers_in(const char* option, const char* form, const std::string& text,
                               std::string_view pattern, int optional) {
  std::vector<double> numbers;
  const auto wanted = static_cast<int>(std::count(pattern.begin(), pattern.end(), '#'));
  const char* place = text.data();
  const char* const end = place + text.size();
  bool fits = true;
  for (const char symbol : pattern) {
    if (place == end && static_cast<int>(numbers.size()) >= wanted - optional) break;
    if (symbol == '#') {
      const auto [after, error] = std::from_chars(place, end, numbers.emplace_back());
      fits = fits && error == std::errc();
      place = after;
    } else {
      fits = fits && place != end && *place++ == symbol;
    }
    if (!fits) break;
  }
  if (!fits || place != end)
    throw UsageError(concat(option, " ", text, " is not of the form ", form, "."));
  return numbers;
}

// A number that must be whole and fit.
template <typename Integer>
Integer whole(const char* option, double number) {
  if (number != std::floor(number) || number < 0 ||
      number > std::numeric_limits<Integer>::max() / 2)
    throw UsageError(concat(option, ": ", number,
                            " is not a whole number that counts workers, steps or operations."));
  return static_cast<Integer>(number);
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
    const std::vector<double> parts =
        numbers_in("--slow", "WORKER:FACTOR, as 3:2.5", text, "#:#", 0);
    cluster.slowdowns.push_back(
        {.worker = WorkerId{whole<int>("--slow", parts[0])}, .factor = parts[1]});
  }
  for (const std::string& text : config.kill) {
    const std::vector<double> parts = numbers_in(
        "--kill", "WORKER@STEP or WORKER@STEP+OPERATIONS, as 2@50 or 2@50+3", text, "#@#+#", 1);
    cluster.deaths.push_back(
        {.worker = WorkerId{whole<int>("--kill", parts[0])},
         .step = Step{whole<std::int64_t>("--kill", parts[1])},
         .after_operations = parts.size() > 2 ? whole<int>("--kill", parts[2]) : 0});
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
