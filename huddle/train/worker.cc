#include "huddle/train/worker.h"

#include "huddle/base/error.h"

namespace huddle {

Sync Worker::attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                    std::string_view strategy, AttachOptions options) {
  if (recorder_ == nullptr) return Sync(endpoint_, module, optimizer, strategy, options);
  recorder_->attaching(module, optimizer, strategy, options);
  Sync sync(endpoint_, module, optimizer, strategy, options);
  recorder_->attached(sync);
  return sync;
}

void Worker::evaluate(Sync& sync, const Judge& judge) {
  check(recorder_ != nullptr, "evaluate() in a run that keeps no records");
  recorder_->evaluate(sync, judge);
}

std::vector<Loss> run(Launcher& engine, const std::function<void(Worker&)>& body) {
  return engine.run([&](Endpoint& endpoint) {
    Worker worker(endpoint);
    body(worker);
  });
}

}  // namespace huddle
