// What Huddle costs a single worker.  Run: build/overhead_bench [--tiny]
//
// One worker trains the cnn on images of 28 x 28 in batches of 64, once in a plain libtorch loop
// and once under `bsp`, in turns within one run; equal data, equal steps. Must hold: Huddle takes
// at most 5 % longer (medians of rounds; at full size only).

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/huddle.h"
#include "huddle/report/format.h"
#include "huddle/train/models/models.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kBatch = 64;

// Random images: speed does not depend on what they show, and no download is needed.
struct Batch {
  at::Tensor images = torch::randn({kBatch, 1, 28, 28});
  at::Tensor labels = torch::randint(10, {kBatch}, torch::kLong);
};

at::Tensor loss_of(Model& model, const Batch& batch) {
  return torch::nn::functional::cross_entropy(model.forward(batch.images), batch.labels);
}

torch::optim::SGD optimizer_for(Model& model) {
  return torch::optim::SGD(model.module().parameters(),
                           torch::optim::SGDOptions(0.01).momentum(0.9));
}

Seconds median(std::vector<Seconds> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

int bench(bool tiny) {
  const int rounds = tiny ? 2 : 30;
  const int steps = tiny ? 2 : 10;
  double ratio = 0;
  make_threads_launcher({.cluster = {.workers = 1}})->run([&](Endpoint& endpoint) {
    const Batch batch;
    const auto plain = make_model("cnn", {1, 28, 28}, 10, 1);
    auto plain_optimizer = optimizer_for(*plain);
    const auto attached = make_model("cnn", {1, 28, 28}, 10, 1);
    auto attached_optimizer = optimizer_for(*attached);
    Sync sync(endpoint, attached->module(), attached_optimizer, "bsp", {});
    std::vector<Seconds> plain_seconds;
    std::vector<Seconds> huddle_seconds;
    for (int round = 0; round < rounds; ++round) {
      const Time begin = endpoint.now();
      for (int step = 0; step < steps; ++step) {
        plain_optimizer.zero_grad();
        loss_of(*plain, batch).backward();
        plain_optimizer.step();
      }
      const Time middle = endpoint.now();
      for (int step = 0; step < steps; ++step) {
        sync.begin_step();
        loss_of(*attached, batch).backward();
        sync.step();
      }
      plain_seconds.push_back(middle - begin);
      huddle_seconds.push_back(endpoint.now() - middle);
    }
    const double apart = (loss_of(*plain, batch) - loss_of(*attached, batch)).abs().item<double>();
    check(apart < 1e-2, "the two loops do not train the same");
    ratio = median(huddle_seconds) / median(plain_seconds);
    fmt::print(
        "{}\ncnn, batch {}, median of {} rounds of {} steps\nplain libtorch {} a step, huddle {} a "
        "step\n",
        machine_description(), kBatch, rounds, steps, format_seconds(median(plain_seconds) / steps),
        format_seconds(median(huddle_seconds) / steps));
  });
  fmt::print("ratio {:.3f}; must hold: at most 1.05{}\n", ratio, tiny ? " (not at this size)" : "");
  return tiny || ratio <= 1.05 ? 0 : 1;
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  return huddle::bench(argc > 1 && std::string_view(argv[1]) == "--tiny");
}
