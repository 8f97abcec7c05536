#include "huddle/train/worker.h"

#include "huddle/base/error.h"

namespace huddle {

Sync Worker::attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                    std::string_view strategy, AttachOptions options) {
  return recorder_ != nullptr ? recorder_->attach(module, optimizer, strategy, options)
                              : Sync(endpoint_, module, optimizer, strategy, options);
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
