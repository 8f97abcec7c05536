#include "tests/support/descent.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/strategy/registry.h"
#include "huddle/strategy/step.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {

double first_of(const at::Tensor& tensor) { return tensor[0].item<double>(); }

at::Tensor mean_of(const std::vector<at::Tensor>& tensors) { return at::stack(tensors).mean(0); }

namespace {

// One worker of a descent.
class Descender {
 public:
  Descender(const Descent& descent, Endpoint& endpoint, Descended& result)
      : descent_(descent),
        endpoint_(endpoint),
        result_(result),
        self_(static_cast<std::size_t>(endpoint.self().value)),
        replica_(at::zeros({descent.size}, at::kDouble), at::zeros({descent.size}, at::kDouble),
                 at::zeros({descent.statistics}, at::kDouble),
                 {descent.size / 2, descent.size - descent.size / 2}, UpdateRule(descent.update)),
        strategy_(make()) {}

  void run() {
    for (Step step; step.value < descent_.steps; ++step.value) {
      take(step);
      if (descent_.resume_after == static_cast<int>(step.value) + 1) resume();
    }
    strategy_->finish();
    for (const auto& [name, model] : strategy_->models())
      result_.models[self_][name] = model.clone();
    result_.parameters[self_] = replica_.parameters();
    result_.statistics[self_] = replica_.statistics();
    add(meter_.take());
  }

 private:
  std::unique_ptr<Strategy> make() {
    const Averaging averaging{.workers_per_rack = descent_.workers_per_rack, .deadline = {20}};
    return make_strategy(descent_.spec, {endpoint_, replica_, meter_, averaging});
  }

  void take(Step step) {
    const auto t = static_cast<std::size_t>(step.value);
    endpoint_.compute(step, descent_.compute);
    if (descent_.learning_rate)
      replica_.set_learning_rate(descent_.learning_rate(static_cast<int>(t)));
    strategy_->before_forward(step);
    replica_.gradients().copy_(
        descent_.gradient(static_cast<int>(self_), static_cast<int>(t), replica_.parameters()));
    replica_.statistics().add_(static_cast<double>(self_ + 1));
    for (const Bucket& bucket : replica_.buckets()) strategy_->gradients_ready(step, bucket);
    const bool skips = self_ == 1 && descent_.skip == static_cast<int>(t);
    const Outcome outcome =
        skips ? strategy_->skipped(step) : take_step(*strategy_, replica_, step);
    result_.path[t][self_] = first_of(replica_.parameters());
    if (!replica_.slots().empty())
      result_.slot[t][self_] = first_of(replica_.slots().front().values);
    add(meter_.take());
    if (self_ != 0) return;
    result_.groups.push_back(outcome.group);
    result_.progress.push_back(outcome.progress);
  }

  void add(const Meter::Total& traffic) {
    Meter::Total& total = result_.traffic[self_];
    total.time.wait += traffic.time.wait;
    total.time.exchange += traffic.time.exchange;
    total.time.hidden += traffic.time.hidden;
    total.bytes_sent += traffic.bytes_sent;
    total.messages_sent += traffic.messages_sent;
  }

  // As a new process would: all that is left of the old strategy is its archive.
  void resume() {
    Archive archive;
    strategy_->save(archive);
    for (auto& [name, tensor] : archive.tensors) tensor = tensor.clone();
    strategy_ = make();
    strategy_->load(archive);
  }

  const Descent& descent_;
  Endpoint& endpoint_;
  Descended& result_;
  const std::size_t self_;
  Replica replica_;
  Meter meter_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace

at::Tensor towards_own_number(int worker, int step, const at::Tensor& x) {
  return x - worker + 0.1 * step;
}

Descended descend(const Descent& descent) {
  ThreadsOptions engine;
  engine.cluster.slowdowns = descent.slowdowns;
  engine.cluster.workers = descent.workers;
  engine.cluster.workers_per_rack = descent.workers_per_rack;
  if (descent.through == Descent::Through::messages) engine.native = ThreadsOptions::Native::off;
  const auto workers = static_cast<std::size_t>(descent.workers);
  const auto steps = static_cast<std::size_t>(descent.steps);
  Descended result;
  result.parameters.resize(workers);
  result.statistics.resize(workers);
  result.models.resize(workers);
  result.traffic.resize(workers);
  result.path.assign(steps, std::vector<double>(workers));
  result.slot.assign(steps, std::vector<double>(workers));
  make_threads_launcher(engine)->run(
      [&](Endpoint& endpoint) { Descender(descent, endpoint, result).run(); });
  return result;
}

double spread(const std::vector<at::Tensor>& tensors) {
  const at::Tensor all = at::stack(tensors);
  return (all - all.mean(0)).abs().max().item<double>();
}

double distance(const Descended& a, const Descended& b) {
  return (at::stack(a.parameters) - at::stack(b.parameters)).abs().max().item<double>();
}

bool same_bits(const Descended& a, const Descended& b) {
  return at::equal(at::stack(a.parameters), at::stack(b.parameters)) && a.path == b.path;
}

TEST(Descent, TakesTheStepsOfItsGradient) {
  const Descended alone =
      descend({.spec = "bsp",
               .workers = 1,
               .steps = 2,
               .update = {.learning_rate = 0.5},
               .gradient = [](int, int, const at::Tensor& x) { return x - 1; }});
  EXPECT_EQ(alone.path, (std::vector<std::vector<double>>{{0.5}, {0.75}}));
}

}  // namespace huddle
