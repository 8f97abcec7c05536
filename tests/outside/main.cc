// Trains a model of its own on threads, and where it is given a cluster file, in that cluster.

#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cstdio>

#include "huddle/huddle.h"

int main(int count, char** words) try {
  const huddle::Engine engine = count > 1 ? huddle::simulate(words[1]) : huddle::threads(2);
  const huddle::Summary summary = huddle::run(engine, [](huddle::Worker& worker) {
    torch::nn::Linear model(3, 1);
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    huddle::Sync sync = worker.attach(*model, optimizer, "bsp", {.steps = 20});
    while (!sync.is_over()) {
      sync.begin_step();
      const at::Tensor loss = (model(torch::ones({1, 3})) - 1).square().sum();
      loss.backward();
      sync.step(loss.item<double>());
    }
    sync.finish();
    worker.evaluate(sync, [&] {
      return huddle::Quality{.loss = (model(torch::ones({1, 3})) - 1).square().item<double>()};
    });
  });
  std::printf("%d workers, loss %.3f\n", summary.workers, summary.consensus->loss);
  return summary.consensus->loss < 0.1 ? 0 : 1;
} catch (const huddle::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
