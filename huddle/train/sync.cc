#include "huddle/train/sync.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/collective/average.h"
#include "huddle/collective/broadcast.h"
#include "huddle/collective/roll_call.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/optimizer.h"
#include "huddle/train/recorder.h"

namespace huddle {
namespace {

Averaging averaging_for(const Endpoint& endpoint, const AttachOptions& options) {
  return whole_messages_if_virtual({.topology = options.topology,
                                    .deadline = options.deadline,
                                    .payload_scale = options.payload_scale},
                                   endpoint);
}

LoopOptions loop_options(const Endpoint& endpoint, const AttachOptions& options) {
  return {.averaging = averaging_for(endpoint, options),
          .clip_norm = options.clip_norm,
          .steps = options.steps,
          .compute = options.compute,
          .keeps_blocked = options.keeps_blocked};
}

FlatModule flatten_on_cpu(torch::nn::Module& module) {
  FlatModule flat = flatten(module);
  if (!flat.parameters.is_cpu())
    throw UsageError(
        "the model is not on the CPU; replicas on other devices are not supported yet.");
  return flat;
}

// Huddle's own rule where it has one.
std::shared_ptr<const Optimizer> flat_optimizer(torch::optim::Optimizer& optimizer) {
  require_steps_without_closure(optimizer);
  if (const auto known = update_options(optimizer)) return std::make_shared<UpdateRule>(*known);
  return std::make_shared<UsersOptimizer>([&optimizer] { optimizer.step(); });
}

}  // namespace

KeptModel::KeptModel(const Replica& replica)
    : replica_(replica),
      parameters_(replica.parameters().clone()),
      statistics_(replica.statistics().clone()) {}

KeptModel::~KeptModel() {
  replica_.parameters().copy_(parameters_);
  replica_.statistics().copy_(statistics_);
}

struct Sync::State {
  State(Endpoint& world, torch::nn::Module& users_module, torch::optim::Optimizer* users_optimizer,
        std::shared_ptr<const Optimizer> updates, std::string_view strategy,
        const AttachOptions& options)
      : endpoint(world),
        module(users_module),
        optimizer(users_optimizer),
        present(Group::everyone(world.workers())),
        deadline(options.deadline),
        flat(flatten_on_cpu(users_module)),
        replica(flat.parameters, flat.gradients, flat.statistics, flat.parameter_sizes,
                std::move(updates), flat.variances),
        replays_backward(world.is_virtual() || options.compute.per_step > 0),
        recorder(options.recorder),
        measuring(averaging_for(world, options), kMeasureLane),
        loop(world, replica, strategy, loop_options(world, options)) {
    // Whatever the module holds, trainable or not, begins as worker 0 has it.
    const Tag tag{.kind = Kind::payload, .lane = kMeasureLane};
    for (const auto& [name, tensor] : state_dict(module)) {
      const at::Tensor contiguous = tensor.contiguous();
      broadcast(endpoint, present, WorkerId{0}, contiguous, tag, options.deadline);
      tensor.copy_(contiguous);
    }
    install_hooks();
    if (recorder != nullptr) recorder->begin(loop);
  }

  ~State() {
    for (const at::Tensor& parameter : flat.module_parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }

  // Told by autograd, on this worker's thread, each time it has added to a parameter's gradient.
  struct GradientHook final : torch::autograd::PostAccumulateGradHook {
    GradientHook(State& owner, std::size_t index) : state(owner), parameter(index) {}
    void operator()(const torch::autograd::Variable&) override { state.gradient_added(parameter); }
    State& state;
    std::size_t parameter;
  };

  void install_hooks() {
    const std::vector<Bucket>& buckets = replica.buckets();
    bucket_of.assign(flat.parameter_sizes.size(), -1);
    parameters_in.assign(buckets.size(), 0);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < flat.parameter_sizes.size(); ++i) {
      for (const Bucket& bucket : buckets)
        if (flat.parameter_sizes[i] > 0 && bucket.range.begin <= offset &&
            offset < bucket.range.end)
          bucket_of[i] = bucket.index;
      offset += flat.parameter_sizes[i];
      if (bucket_of[i] < 0) continue;
      ++parameters_in[static_cast<std::size_t>(bucket_of[i])];
      torch::autograd::impl::set_post_acc_grad_hooks(flat.module_parameters[i],
                                                     std::make_unique<GradientHook>(*this, i));
    }
  }

  void gradient_added(std::size_t parameter) {
    restore_gradient_view(flat,
                          parameter);  // The user may have called zero_grad() after begin_step().
    if (!in_step) return;
    check(awaited[static_cast<std::size_t>(bucket_of[parameter])] > 0,
          "more backward passes than begin_step(backwards) announced");
    --awaited[static_cast<std::size_t>(bucket_of[parameter])];
    if (!replays_backward) report_ready(0);
  }

  // Tells the strategy of every bucket, in order, that misses at most `missing` additions.
  void report_ready(int missing) {
    const std::vector<Bucket>& buckets = replica.buckets();
    while (next_bucket < buckets.size() && awaited[next_bucket] <= missing)
      loop.ready(buckets[next_bucket++]);
  }

  // The mean of everybody's `values`. In double: equal models of float32 have exactly their own
  // value as mean, and no drift.
  at::Tensor mean_of(const at::Tensor& values) {
    check(!in_step, "models are measured between steps, not within one");
    const at::Tensor mean = values.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
    measuring.average(endpoint, present, mean, Sequence{measurement++});
    return mean;
  }

  double drift_from(const at::Tensor& mean) {
    const at::Tensor squared_distance =
        mean_of((replica.parameters() - mean).square().sum().reshape({1}));
    const double distance = std::sqrt(squared_distance.item<double>());
    return distance == 0 ? 0 : distance / mean.norm().item<double>();  // Not finite stays so.
  }

  Endpoint& endpoint;
  torch::nn::Module& module;
  torch::optim::Optimizer* optimizer;  // The user's; null: there is none.
  Group present;                       // Who takes part in what is measured.
  const Deadline deadline;
  FlatModule flat;
  Replica replica;
  const bool replays_backward;
  Recorder* const recorder;
  Averager measuring;
  std::uint32_t measurement = 0;
  StepLoop loop;

  bool in_step = false;
  std::vector<int> bucket_of;      // By parameter; -1 for one without elements.
  std::vector<int> parameters_in;  // By bucket.
  std::vector<int> awaited;        // By bucket: additions still to come in this step.
  std::size_t next_bucket = 0;     // The first that the strategy has not been told of.
};

Sync::Sync(Endpoint& endpoint, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
           std::string_view strategy, const AttachOptions& options)
    : state_(std::make_unique<State>(endpoint, module, &optimizer, flat_optimizer(optimizer),
                                     strategy, options)) {}

Sync::Sync(Endpoint& endpoint, torch::nn::Module& module, const UpdateOptions& update,
           std::string_view strategy, const AttachOptions& options)
    : state_(std::make_unique<State>(endpoint, module, nullptr,
                                     std::make_shared<UpdateRule>(update), strategy, options)) {}

Sync::~Sync() = default;
Sync::Sync(Sync&&) noexcept = default;

void Sync::set_learning_rate(double learning_rate) {
  check(state_->optimizer == nullptr, "the learning rate is the user's optimizer's");
  state_->replica.set_learning_rate(learning_rate);
}

void Sync::begin_step(int backwards) {
  State& state = *state_;
  check(!state.in_step, "begin_step() twice without step()");
  check(backwards >= 1, "a step needs at least one backward pass");
  if (state.optimizer != nullptr)  // Buckets may be stepped during backward.
    state.replica.set_learning_rate(learning_rate(*state.optimizer));
  state.loop.begin(backwards);
  restore_gradient_views(state.flat);
  state.flat.gradients.zero_();
  state.awaited = state.parameters_in;
  for (int& count : state.awaited) count *= backwards;
  state.next_bucket = 0;
  state.in_step = true;
}

Outcome Sync::step(const std::optional<double>& loss) {
  State& state = *state_;
  check(state.in_step, "step() without begin_step()");
  if (state.replays_backward)
    // The backward pass has run whole by now, in no time that counts; it is lived through again.
    state.loop.replay_backward();
  else
    // Parameters that took no part in the loss never report; their gradients are 0.
    state.report_ready(std::numeric_limits<int>::max());
  state.in_step = false;
  const Outcome outcome = state.loop.end();
  if (state.recorder != nullptr) state.recorder->taken(state.loop, loss);
  return outcome;
}

bool Sync::is_over() const { return state_->loop.is_over(); }

void Sync::finish() {
  state_->loop.finish();
  // What is measured after losses is the mean of those who are still there.
  if (traits().survives_loss)
    state_->present = roll_call(state_->endpoint, kMeasureLane, state_->deadline);
  if (state_->recorder != nullptr) state_->recorder->finished(state_->loop);
}

Sync::Consensus::Consensus(Sync& sync) : own_(sync.replica()) {
  State& state = *sync.state_;
  const at::Tensor mean = state.mean_of(state.replica.parameters());
  drift_ = state.drift_from(mean);
  state.replica.parameters().copy_(mean);
  state.replica.statistics().copy_(state.mean_of(state.replica.statistics()));
}

double Sync::drift() { return state_->drift_from(state_->mean_of(state_->replica.parameters())); }

std::map<std::string, at::Tensor> Sync::models() const { return state_->loop.strategy().models(); }

const Traits& Sync::traits() const { return state_->loop.traits(); }

const Group& Sync::present() const { return state_->present; }

Step Sync::next_step() const { return state_->loop.next_step(); }

double Sync::progress() const { return state_->loop.progress(); }

const Replica& Sync::replica() const { return state_->replica; }

std::map<std::string, at::Tensor> Sync::save() const {
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : state_dict(state_->module))
    saved["module/" + name] = tensor.clone();
  for (const Slot& slot : state_->replica.slots()) saved["slot/" + slot.name] = slot.values.clone();
  Archive archive;
  state_->loop.save(archive);
  for (const auto& [name, tensor] : archive.tensors) saved["strategy/" + name] = tensor.clone();
  for (const auto& [name, number] : archive.numbers)
    saved["number/" + name] = at::scalar_tensor(number, at::kLong);
  return saved;
}

void Sync::load(const std::map<std::string, at::Tensor>& saved) {
  const auto restore = [&](const std::string& name, const at::Tensor& into) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second.sizes() != into.sizes())
      throw UsageError("the checkpoint does not fit the model: '" + name +
                       "' is missing or of another shape.");
    into.copy_(found->second);
  };
  for (const auto& [name, tensor] : state_dict(state_->module)) restore("module/" + name, tensor);
  for (const Slot& slot : state_->replica.slots()) restore("slot/" + slot.name, slot.values);
  Archive archive;
  for (const auto& [name, tensor] : saved) {
    if (name.starts_with("strategy/")) archive.tensors[name.substr(9)] = tensor;
    if (name.starts_with("number/")) archive.numbers[name.substr(7)] = tensor.item<std::int64_t>();
  }
  state_->loop.load(archive);
  if (state_->recorder != nullptr) state_->recorder->begin(state_->loop);
}

}  // namespace huddle
