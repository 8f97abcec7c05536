// One worker of a run, as its body sees it: who it is, and a model of its own to attach.
//
//   [](huddle::Worker& worker) {
//     auto model = ...;
//     torch::optim::SGD optimizer(model->parameters(), 0.1);
//     auto sync = worker.attach(*model, optimizer, "bsp:buckets=4", {.steps = 1000});
//     ...
//   }

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "huddle/train/recorder.h"
#include "huddle/train/sync.h"
#include "huddle/transport/launcher.h"

namespace huddle {

class Worker {
 public:
  // `recorder`: absent where nobody writes anything down.
  explicit Worker(Endpoint& endpoint, Recorder* recorder = nullptr)
      : endpoint_(endpoint), recorder_(recorder) {}

  int id() const { return endpoint_.self().value; }
  int workers() const { return endpoint_.workers(); }
  Endpoint& endpoint() { return endpoint_; }

  // See Sync. `strategy` as everywhere: "bsp", "ds_sync:schedule=grid". In a run with a cluster,
  // what that says of racks, of the time to compute and of the model's size on the wire takes the
  // place of what `options` say.
  Sync attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::string_view strategy, AttachOptions options = {});

  // Has `judge` say how good the model is: on every worker for its own, and on worker 0 for the
  // mean of all and, where the run keeps models on the way (RunOptions::evaluate_every), for each
  // of those. The records tell it; the model is left as it was. All workers call it. REQUIRES:
  // after `finish`, in a run that keeps records.
  void evaluate(Sync& sync, const Judge& judge);

 private:
  Endpoint& endpoint_;
  Recorder* recorder_;
};

// Runs `body` once for each worker and waits for all; see Launcher::run.
std::vector<Loss> run(Launcher& engine, const std::function<void(Worker&)>& body);

}  // namespace huddle
