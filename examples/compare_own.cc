// Which strategy suits a model of your own on a cluster like yours?  Run: build/compare_own
//
// Compares three strategies on a small network of its own that learns to tell two spirals apart,
// in the simulated cluster of clusters/heterogeneous_lab.toml, or of the file that is named on the
// command line. Prints the table and writes out/compare_own/report.html. Exits with status 1 unless
// every strategy gets at least 90 % of the points right.

#include <torch/torch.h>

#include <cstdio>
#include <exception>
#include <string>

#include "huddle/huddle.h"

namespace {

constexpr int kSteps = 300;
constexpr int kBatch = 32;

// A model of one's own, as in any libtorch program.
struct NetImpl : torch::nn::Module {
  NetImpl() : torch::nn::Module("sine network") {
    register_module("hidden", hidden);
    register_module("output", output);
  }
  torch::Tensor forward(const torch::Tensor& points) {
    return output(torch::sin(hidden(points))).squeeze(1);
  }
  torch::nn::Linear hidden{2, 48};
  torch::nn::Linear output{48, 1};
};
TORCH_MODULE(Net);

// Points on two spirals, and which of the two each is on. Equal seeds give equal points.
struct Points {
  Points(std::int64_t count, std::uint64_t seed) {
    const at::Generator generator = at::detail::createCPUGenerator(seed);
    arm = torch::randint(2, {count}, generator, torch::kFloat);
    const torch::Tensor angle = 7 * torch::empty({count}).uniform_(0, 1, generator).sqrt();
    const torch::Tensor turned = angle + M_PI * arm;
    at = torch::stack({angle * turned.cos(), angle * turned.sin()}, 1);
    at += 0.1 * torch::randn({count, 2}, generator);
  }
  torch::Tensor at;
  torch::Tensor arm;
};

torch::Tensor loss_of(Net& net, const Points& points) {
  return torch::binary_cross_entropy_with_logits(net(points.at), points.arm);
}

// Runs once for each worker, under each strategy.
void train(huddle::Worker& worker, const huddle::Trial& trial) {
  torch::manual_seed(trial.seed);  // All begin as worker 0 does, whose weights everybody gets.
  Net net;
  torch::optim::Adam optimizer(net->parameters(), 0.02);
  huddle::Sync sync = worker.attach(*net, optimizer, trial.strategy, {.steps = kSteps});
  while (!sync.is_over()) {
    const std::int64_t step = sync.next_step().value;
    const Points batch(kBatch, 1000 * (step + 1) + worker.id());  // Of this worker alone.
    sync.begin_step();
    const torch::Tensor loss = loss_of(net, batch);
    loss.backward();
    sync.step(loss.item<double>());
  }
  sync.finish();
  worker.evaluate(sync, [&] {
    const torch::NoGradGuard no_grad;
    const Points test(500, 1);
    const auto right = (net(test.at) > 0).eq(test.arm > 0.5).to(torch::kDouble).mean();
    return huddle::Quality{.loss = loss_of(net, test).item<double>(),
                           .accuracy = right.item<double>()};
  });
}

}  // namespace

int main(int count, char** words) try {
  const huddle::Engine cluster =
      huddle::simulate(count > 1 ? words[1] : "clusters/heterogeneous_lab.toml");
  const huddle::Comparison all =
      huddle::compare(cluster, {"bsp", "local_sgd:tau=8", "p_reduce:group=3"}, train,
                      {.out = "out/compare_own",
                       .older = huddle::Older::replace,
                       .title = "Two spirals on a mixed lab",
                       .data = "spirals",
                       .batch = kBatch,
                       .evaluate_every = 50});
  std::printf("%s\nReport: out/compare_own/report.html\n", huddle::comparison_text(all).c_str());
  for (const huddle::ComparedRow& row : all.table)
    if (!row.accuracy_consensus || row.accuracy_consensus->mean < 0.9) return 1;
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_own: %s\n", error.what());
  return 2;
}
