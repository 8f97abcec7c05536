// Everything that `huddle train` can be told, gathered from the command line and, on --resume, from
// a checkpoint.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/strategy/entry.h"
#include "huddle/train/checkpoint/checkpoint_index.h"
#include "huddle/train/models/problem.h"
#include "huddle/train/trainer.h"

namespace huddle {

// As typed, before anything is checked.
struct TrainConfig {
  std::string strategy = "bsp";
  std::string model = "mlp";
  std::string data = "digits";
  std::string data_directory = "~/.cache/huddle";
  std::string split = "iid";
  double holdout = 0;
  std::string engine = "threads";
  int rank = 0;
  std::string store;
  double rendezvous = 60;
  int workers = 4;
  std::int64_t steps = 300;
  double epochs = 0;
  std::int64_t batch = 32;
  int accumulate = 1;
  std::string optimizer = "sgd";
  double learning_rate = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;
  std::string schedule = "constant";
  std::int64_t seed = 1;
  std::int64_t evaluate_every = 0;
  std::int64_t swa_start = 0;
  std::int64_t swa_every = 0;
  bool keep_going = false;
  double deadline = 300;
  std::string out;
  std::string timeline;
  std::string save;
  std::int64_t save_every = 0;
  bool replace = false;
  std::string resume;
  std::string cluster;
  std::string wire;
  bool timing_only = false;
  std::string racks;
  std::string compute;
  double jitter = 0;
  std::vector<std::string> slow;
  std::string latency;
  std::string bandwidth;
  std::vector<std::string> kill;
  bool quiet = false;
  bool json = false;
};

// What was typed of a run's engine and cluster, which checkpoints do not keep: a run may go on
// elsewhere.
std::vector<std::string> not_in_checkpoint(const CLI::App& command);

// Takes from the checkpoint in config.resume what the command line left open, and returns what it
// says. Throws UsageError where the two disagree.
CheckpointInfo adopt_checkpoint(const CLI::App& command, TrainConfig& config);

// Throws UsageError where the strategy would go on as another method than the run began with, or
// might: checkpoints that were made before defaults changed do not say.
void check_settled(const TrainConfig& config, const CheckpointInfo& resumed,
                   const StrategySetting& setting);

// The options that shape a run's bits, by name, as a checkpoint keeps them.
std::map<std::string, std::string> settings_of(const TrainConfig& config);

// Those in which all processes of a run must agree: all but what is each one's own business.
std::map<std::string, std::string> common_settings_of(const TrainConfig& config);

// What the typed values mean. All throw UsageError.
Cluster cluster_of(const TrainConfig& config);
ProblemOptions problem_of(const TrainConfig& config);
UpdateOptions update_of(const TrainConfig& config);

}  // namespace huddle
