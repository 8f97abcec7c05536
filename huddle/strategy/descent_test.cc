#include "tests/support/descent.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "huddle/strategy/step_loop.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/equal_racks.h"

namespace huddle {

double first_of(const at::Tensor& tensor) { return tensor[0].item<double>(); }

at::Tensor mean_of(const std::vector<at::Tensor>& tensors) { return at::stack(tensors).mean(0); }

namespace {

std::vector<std::int64_t> layers(const Descent& descent) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < descent.layers; ++i)
    sizes.push_back(descent.size * (i + 1) / descent.layers - descent.size * i / descent.layers);
  return sizes;
}

// One worker of a descent.
class Descender {
 public:
  Descender(const Descent& descent, Endpoint& endpoint, Descended& result)
      : descent_(descent),
        endpoint_(endpoint),
        result_(result),
        self_(static_cast<std::size_t>(endpoint.self().value)),
        replica_(at::zeros({descent.size}, at::kDouble), at::zeros({descent.size}, at::kDouble),
                 at::zeros({descent.statistics}, at::kDouble), layers(descent),
                 UpdateRule(descent.update)),
        loop_(make()) {}

  void run() {
    for (int step = 0; step < descent_.steps; ++step) {
      take(step);
      if (descent_.resume_after == step + 1) resume();
    }
    loop_->finish();
    for (const auto& [name, model] : loop_->strategy().models())
      result_.models[self_][name] = model.clone();
    result_.parameters[self_] = replica_.parameters();
    result_.statistics[self_] = replica_.statistics();
    add(loop_->take_traffic());
  }

 private:
  std::unique_ptr<StepLoop> make() {
    return std::make_unique<StepLoop>(
        endpoint_, replica_, descent_.spec,
        LoopOptions{.averaging = {.topology = shared_racks(descent_.workers, descent_.per_rack),
                                  .deadline = {20}},
                    .steps = descent_.run_steps,
                    .compute = {.per_step = descent_.compute, .backward_share = 0},
                    .home = {descent_.home}});
  }

  void take(int step) {
    const auto t = static_cast<std::size_t>(step);
    if (descent_.learning_rate) replica_.set_learning_rate(descent_.learning_rate(step));
    loop_->begin();
    replica_.gradients().copy_(
        descent_.gradient(static_cast<int>(self_), step, replica_.parameters()));
    if (step < descent_.statistics_until.value_or(descent_.steps))
      replica_.statistics().add_(static_cast<double>(self_ + 1));
    loop_->replay_backward();
    const bool skips = self_ == 1 && descent_.skip == step;
    const Outcome outcome = skips ? loop_->skip() : loop_->end();
    result_.path[t][self_] = first_of(replica_.parameters());
    if (!replica_.slots().empty())
      result_.slot[t][self_] = first_of(replica_.slots().front().values);
    add(loop_->take_traffic());
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
    loop_->save(archive);
    for (auto& [name, tensor] : archive.tensors) tensor = tensor.clone();
    loop_ = make();
    loop_->load(archive);
  }

  const Descent& descent_;
  Endpoint& endpoint_;
  Descended& result_;
  const std::size_t self_;
  Replica replica_;
  std::unique_ptr<StepLoop> loop_;
};

}  // namespace

at::Tensor towards_own_number(int worker, int step, const at::Tensor& x) {
  return x - worker + 0.1 * step;
}

Descended descend(const Descent& descent) {
  ThreadsOptions engine;
  engine.cluster.slowdowns = descent.slowdowns;
  engine.cluster.workers = descent.workers;
  engine.cluster.topology = equal_racks(descent.workers, descent.per_rack);
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

at::Tensor own_number_once(int worker, int step, const at::Tensor& x) {
  return step == 0 ? at::full_like(x, worker) : at::zeros_like(x);
}

at::Tensor one_everywhere(int, int, const at::Tensor& x) { return at::ones_like(x); }

bool all_equal(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& each) { return at::equal(each, tensors.front()); });
}

std::vector<Loss> lose_worker_2(const std::string& spec, int after_operations,
                                std::atomic<int>& finished) {
  ThreadsOptions engine;
  engine.cluster.workers = 5;
  engine.cluster.deaths = {
      {.worker = {2}, .step = {4}, .after_operations = after_operations, .time = {}}};
  return make_threads_launcher(engine)->run([&](Endpoint& endpoint) {
    Replica replica(at::zeros({6}), at::ones({6}), at::zeros({0}), {3, 3}, UpdateRule({}));
    StepLoop loop(endpoint, replica, spec,
                  {.averaging = {.deadline = {20}}, .compute = {.per_step = 0.0003}});
    for (int step = 0; step < 12; ++step) {
      loop.begin();
      loop.replay_backward();
      loop.end();
    }
    loop.finish();
    ++finished;
  });
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
