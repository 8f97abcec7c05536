// One worker of a run, as its body sees it: who it is, and a model of its own to attach.
//
//   [](huddle::Worker& worker) {
//     auto model = ...;
//     torch::optim::SGD optimizer(model->parameters(), 0.1);
//     auto sync = worker.attach(*model, optimizer, "bsp:buckets=4", {.steps = 1000});
//     ...
//   }

#pragma once

#include <string_view>

#include "huddle/train/recorder.h"
#include "huddle/train/sync.h"
#include "huddle/transport/payload_scale.h"

namespace huddle {

// How much the model counts for on the network.
struct WireSize {
  double bytes = 0;    // 0: what it is.
  PayloadScale scale;  // The engine's. Set as soon as the model's size is known.
};

class Worker {
 public:
  // All must outlive it.
  Worker(Endpoint& endpoint, const TrainOptions& run, const WireSize& wire, Recorder& recorder)
      : endpoint_(endpoint), run_(run), wire_(wire), recorder_(recorder) {}

  int id() const { return endpoint_.self().value; }
  int workers() const { return endpoint_.workers(); }
  Endpoint& endpoint() { return endpoint_; }

  // See Sync. `strategy` as everywhere: "bsp", "ds_sync:schedule=grid". What the run's cluster says
  // of racks, of the time to compute and of the model's size on the wire takes the place of what
  // `options` say. Records tell of the first model that is attached.
  Sync attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::string_view strategy, AttachOptions options = {});

  // Has `judge` say how good the model is: on every worker for its own, and on worker 0 for the
  // mean of all, for further models of the strategy (an anchor; not where there are statistics, as
  // of BatchNorm, which are of the workers' models) and, where the run keeps models on the way
  // (RunOptions::evaluate_every), for each of those. The records tell it; the model is left as it
  // was. All workers call it. REQUIRES: after `finish`.
  void evaluate(Sync& sync, const Judge& judge);

 private:
  Endpoint& endpoint_;
  const TrainOptions& run_;
  const WireSize& wire_;
  Recorder& recorder_;
};

}  // namespace huddle
