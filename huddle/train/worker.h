// The front door for C++ users: start workers on an engine, and attach a model in each of them.
//
//   huddle::run(huddle::threads(4), [](huddle::Worker& worker) {
//     auto model = ...;
//     torch::optim::SGD optimizer(model->parameters(), 0.1);
//     auto sync = worker.attach(*model, optimizer, "bsp:buckets=4");
//     ...
//   });

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "huddle/train/sync.h"
#include "huddle/transport/launcher.h"

namespace huddle {

// One worker of a run, as its body sees it.
class Worker {
 public:
  explicit Worker(Endpoint& endpoint) : endpoint_(endpoint) {}

  int id() const { return endpoint_.self().value; }
  int workers() const { return endpoint_.workers(); }
  Endpoint& endpoint() { return endpoint_; }

  // See Sync. `strategy` as everywhere: "bsp", "ds_sync:schedule=grid".
  Sync attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
              std::string_view strategy, const AttachOptions& options = {}) {
    return Sync(endpoint_, module, optimizer, strategy, options);
  }

 private:
  Endpoint& endpoint_;
};

// An engine of `workers` threads in this process.
std::unique_ptr<Launcher> threads(int workers);

// Runs `body` once for each worker and waits for all; see Launcher::run.
std::vector<Loss> run(Launcher& engine, const std::function<void(Worker&)>& body);
std::vector<Loss> run(std::unique_ptr<Launcher> engine, const std::function<void(Worker&)>& body);

}  // namespace huddle
