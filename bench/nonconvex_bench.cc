// Convergence on a smooth non-convex problem with known gradients.  Run: build/nonconvex_bench
// [--tiny]
//
// f(x) = sum_d x_d^2 / (1 + x_d^2) + 0.5 * sum_d cos(x_d): smooth, not convex, gradients in closed
// form; every worker sees grad f plus Gaussian noise of its own. Two runs of the theory, lr ~
// sqrt(N / T):
// - in T: the mean of |grad f(xbar_t)|^2 falls like T^-0.5; the slope on log-log axes must be
// within 10 % of bsp's;
// - in N: with N workers it falls like N^-0.5; the ratio of N = 16 to N = 4 must be within 10 % of
// bsp's. The schedule that never mixes must fail: its workers drift apart without bound.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/report/format.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

constexpr std::int64_t kDimension = 200;
constexpr double kNoise = 2.0;

at::Tensor exact_gradient(const at::Tensor& x) {
  const at::Tensor square = 1 + x * x;
  return 2 * x / (square * square) - 0.5 * at::sin(x);
}

struct Outcomes {
  double gradient_norm = 0;  // Mean over steps of |grad f(xbar)|^2.
  double spread = 0;         // Root mean square distance of the workers from their mean at the end.
};

Outcomes descend(const std::string& spec, int workers, int steps, std::uint64_t seed) {
  ThreadsOptions engine;
  engine.cluster.workers = workers;
  std::vector<at::Tensor> models(static_cast<std::size_t>(workers));
  // Means over workers are formed after the run from what each wrote down every so often.
  const int samples = 50;
  std::vector<std::vector<at::Tensor>> history(static_cast<std::size_t>(workers));
  make_threads_launcher(engine)->run([&](Endpoint& endpoint) {
    const auto self = static_cast<std::size_t>(endpoint.self().value);
    const at::Tensor x = at::full({kDimension}, 2.0, at::kDouble);
    const at::Tensor gradients = at::zeros_like(x);
    const double rate = 0.5 * std::sqrt(static_cast<double>(workers) / steps);
    Replica replica(x, gradients, at::zeros({0}, at::kDouble), {kDimension},
                    UpdateRule({.learning_rate = rate}));
    StepLoop loop(endpoint, replica, spec, {.averaging = {.deadline = {120}}});
    Random random(seed, {static_cast<std::uint64_t>(endpoint.self().value)});
    std::vector<double> noise(static_cast<std::size_t>(kDimension));
    for (int step = 0; step < steps; ++step) {
      if (step % std::max(1, steps / samples) == 0) history[self].push_back(x.clone());
      loop.begin();
      for (double& value : noise) value = kNoise * random.normal();
      gradients.copy_(exact_gradient(x) + at::from_blob(noise.data(), {kDimension}, at::kDouble));
      loop.replay_backward();
      loop.end();
    }
    loop.finish();
    models[self] = x;
  });
  Outcomes outcomes;
  for (std::size_t sample = 0; sample < history.front().size(); ++sample) {
    at::Tensor mean = at::zeros({kDimension}, at::kDouble);
    for (const auto& worker : history) mean += worker[sample] / workers;
    outcomes.gradient_norm += exact_gradient(mean).square().sum().item<double>() /
                              static_cast<double>(history.front().size());
  }
  const at::Tensor all = at::stack(models);
  outcomes.spread = std::sqrt((all - all.mean(0)).square().sum(1).mean().item<double>());
  return outcomes;
}

Outcomes averaged(const std::string& spec, int workers, int steps, int seeds) {
  Outcomes total;
  for (int seed = 0; seed < seeds; ++seed) {
    const Outcomes one = descend(spec, workers, steps, static_cast<std::uint64_t>(seed));
    total.gradient_norm += one.gradient_norm / seeds;
    total.spread += one.spread / seeds;
  }
  return total;
}

struct Row {
  double slope = 0;     // Of log gradient norm in log T.
  double speed_up = 0;  // Gradient norm of 4 workers over that of 16.
  double spread = 0;
};

Row measure(const std::string& spec, int short_run, int long_run, int seeds) {
  const Outcomes brief = averaged(spec, 16, short_run, seeds);
  const Outcomes lengthy = averaged(spec, 16, long_run, seeds);
  const Outcomes few = averaged(spec, 4, long_run, seeds);
  return {std::log(lengthy.gradient_norm / brief.gradient_norm) /
              std::log(static_cast<double>(long_run) / short_run),
          few.gradient_norm / lengthy.gradient_norm, lengthy.spread};
}

int bench(bool tiny) {
  const int short_run = tiny ? 20 : 500;
  const int long_run = tiny ? 40 : 4000;
  const int seeds = tiny ? 1 : 4;
  fmt::print(
      "{}\n16 workers, {} and {} steps, {} seeds; speed-up: 16 workers over "
      "4\n\n{:<34}{:>10}{:>10}{:>10}\n",
      machine_description(), short_run, long_run, seeds, "strategy", "slope", "speed-up", "spread");
  Row bsp;
  bool holds = true;
  for (const char* spec :
       {"bsp", "ds_sync:form=paper", "sesgd:form=paper", "ds_sync:form=paper,schedule=fixed"}) {
    const Row row = measure(spec, short_run, long_run, seeds);
    fmt::print("{:<34}{:>10.3f}{:>10.3f}{:>10.3f}\n", spec, row.slope, row.speed_up, row.spread);
    if (std::string_view(spec) == "bsp") {
      bsp = row;
    } else if (std::string_view(spec).ends_with("fixed")) {
      holds = holds && row.spread > 1;
    } else {
      holds = holds && std::abs(row.slope / bsp.slope - 1) < 0.1 &&
              std::abs(row.speed_up / bsp.speed_up - 1) < 0.1;
    }
  }
  fmt::print(
      "\nmust hold: slope and speed-up within 10 % of bsp, and the fixed groups drift apart: {}\n",
      tiny    ? "not at this size"
      : holds ? "holds"
              : "DOES NOT HOLD");
  return tiny || holds ? 0 : 1;
}

}  // namespace
}  // namespace huddle

int main(int argc, char** argv) {
  return huddle::bench(argc > 1 && std::string_view(argv[1]) == "--tiny");
}
