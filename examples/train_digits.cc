// Huddle beside an ordinary libtorch training loop.
// Run: build/train_digits, or: build/huddle launch -n 4 --program build/train_digits -- train
//
// Four workers train one classifier of handwritten digits: threads of this process, or, under
// `huddle launch`, torchrun or srun, a process each, as many as there are. What Huddle adds to the
// usual loop is marked (1) to (5). Exits with status 1 unless the workers' common model gets at
// least 90 % of the test digits right.

#include <torch/torch.h>

#include <cstdio>
#include <string_view>

#include "huddle/huddle.h"
#include "huddle/train/data/dataset.h"
#include "huddle/train/data/sampler.h"

namespace {

double accuracy(torch::nn::Sequential& model, const huddle::Dataset& test) {
  const torch::NoGradGuard no_grad;
  return model->forward(test.images.flatten(1))
      .argmax(1)
      .eq(test.labels)
      .to(torch::kDouble)
      .mean()
      .item<double>();
}

}  // namespace

int main(int count, char** words) {
  if (count > 2 || (count == 2 && std::string_view(words[1]) != "train")) {
    std::puts("train_digits takes no options: it trains a classifier of digits with four workers.");
    return 2;
  }
  const huddle::ImageData digits = huddle::load_data("digits", "");
  const std::vector<int> labels = huddle::label_values(digits.train);
  double result = 0;
  const huddle::Engine engine = huddle::cluster_or(huddle::threads(4));
  const bool is_first = !engine.place || engine.place->rank == 0;

  huddle::run(engine, [&](huddle::Worker& worker) {  // (1) Everything in here runs once per worker.
    torch::nn::Sequential model(torch::nn::Linear(64, 64), torch::nn::ReLU(),
                                torch::nn::Linear(64, 10));
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    auto sync = worker.attach(*model, optimizer,
                              "bsp:buckets=2");  // (2) Same start for all; a strategy by name.

    huddle::Sampler sampler(
        {.split = huddle::parse_split("iid"), .workers = worker.workers(), .batch = 32, .seed = 1},
        labels, huddle::WorkerId{worker.id()});
    for (int step = 0; step < 200; ++step) {
      const auto batch = torch::tensor(sampler.batch(huddle::Step{step}), torch::kLong);
      sync.begin_step();  // (3) Instead of optimizer.zero_grad().
      const auto scores = model->forward(digits.train.images.index_select(0, batch).flatten(1));
      torch::nn::functional::cross_entropy(scores, digits.train.labels.index_select(0, batch))
          .backward();
      sync.step();  // (4) Instead of optimizer.step().
    }
    sync.finish();

    const auto consensus =
        sync.consensus();  // (5) The mean of all workers' models, until the end of the block.
    if (worker.id() == 0) result = accuracy(model, digits.test);
  });

  if (!is_first) return 0;  // Only the process of worker 0 has the result.
  std::printf("consensus accuracy: %.1f %%\n", 100 * result);
  return result >= 0.9 ? 0 : 1;
}
