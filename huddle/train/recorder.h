// What a run knows of its cluster and writes down of a worker, for bodies that bring a model and a
// loop of their own: it completes what they attach with, and Sync tells it of every step.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "huddle/cluster/cluster.h"
#include "huddle/train/evaluation/snapshots.h"
#include "huddle/train/sync.h"
#include "huddle/train/worker_log.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

// What all workers of a run share.
struct RunSetting {
  Cluster cluster;
  SharedTopology topology;          // The cluster's.
  PayloadScale payload_scale;       // Set as soon as the model's size is known.
  std::int64_t evaluate_every = 0;  // Steps of the run between two models that are judged after it.
  bool keeps_blocked = false;       // Records tell every stretch of waiting, for a timeline.
  // Called by the workers' threads, each for its own.
  std::function<void(const StepRecord&)> taken;
  std::function<void(WorkerId, const std::vector<Blocked>&)> finished;
};

// What a worker attached.
struct Attached {
  std::string strategy;
  std::string model;
  std::string optimizer;
  std::int64_t steps = 0;
  bool tells_loss = false;
};

// How good the model is as it stands.
using Judge = std::function<Quality()>;

// One worker's, used by its thread alone. It follows the first model that the worker attaches.
class Recorder {
 public:
  // All must outlive it.
  Recorder(Endpoint& endpoint, const RunSetting& setting, WorkerLog& log, Attached& attached)
      : endpoint_(endpoint), setting_(setting), log_(log), attached_(attached) {}

  // See Worker.
  Sync attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::string_view strategy, AttachOptions options);
  void evaluate(Sync& sync, const Judge& judge);

  // Told by Sync.
  void taken(StepTaken step, const std::optional<double>& loss, const Replica& replica);
  void finished(Sync& sync);

 private:
  Endpoint& endpoint_;
  const RunSetting& setting_;
  WorkerLog& log_;
  Attached& attached_;
  std::optional<Snapshots> snapshots_;  // There once a model is attached.
};

}  // namespace huddle
