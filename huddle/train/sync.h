// A user's model and optimizer under a strategy: what `worker.attach(model, optimizer, "ds_sync")`
// returns.
//
//   while (!sync.is_over()) {                   // or any loop of your own
//     sync.begin_step();                        // instead of optimizer.zero_grad()
//     loss(model).backward();                   // gradients may already travel while this goes on
//     sync.step();                              // instead of optimizer.step()
//   }
//   sync.finish();
//   { auto consensus = sync.consensus(); evaluate(model); }   // the mean of all workers' models,
//   for the time of the block

#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "huddle/cluster/topology.h"
#include "huddle/record/record.h"
#include "huddle/strategy/step_loop.h"
#include "huddle/transport/endpoint.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn
namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace huddle {

class Recorder;

struct AttachOptions {
  SharedTopology topology = std::make_shared<const Topology>();  // Who is near whom.
  Deadline deadline;                                             // For every wait.
  double clip_norm = 0;      // Gradients are scaled down to this norm before the update; 0: never.
  std::int64_t steps = 0;    // That each worker is to take, for strategies that must know the end.
  Compute compute;           // Simulated or injected.
  double payload_scale = 1;  // Bytes on the wire for each byte of the model, in simulation.
  bool keeps_blocked = false;    // Records tell every stretch of waiting, for a timeline.
  Recorder* recorder = nullptr;  // Told of every step.
};

// Keeps a copy of the replica's parameters and statistics, and puts them back at the end of its
// block. The replica outlives it.
class KeptModel {
 public:
  explicit KeptModel(const Replica& replica);
  ~KeptModel();
  KeptModel(const KeptModel&) = delete;
  KeptModel& operator=(const KeptModel&) = delete;

 private:
  const Replica& replica_;
  const at::Tensor parameters_;
  const at::Tensor statistics_;
};

// All of this is called by the worker's own thread, at the same points of the run on every worker.
class Sync {
 public:
  // Moves the module's parameters and statistics into flat tensors and gives everybody those of
  // worker 0. The module and the optimizer stay the user's and must outlive this. SGD, Adam and
  // AdamW are applied by Huddle, by their options of the moment; any other optimizer takes the
  // steps itself, with the strategies that leave them to it, and its state is the user's to save.
  // Throws UsageError on a strategy that cannot work.
  Sync(Endpoint& endpoint, torch::nn::Module& module, torch::optim::Optimizer& optimizer,
       std::string_view strategy, const AttachOptions& options);

  // Without an optimizer of the user's: by this rule, at the rate that `set_learning_rate` says.
  Sync(Endpoint& endpoint, torch::nn::Module& module, const UpdateOptions& update,
       std::string_view strategy, const AttachOptions& options);
  void set_learning_rate(double learning_rate);
  ~Sync();
  Sync(Sync&&) noexcept;
  Sync& operator=(Sync&&) = delete;

  // Zeroes the gradients and waits for whatever the forward pass needs. `backwards`: how many
  // backward passes add up to this step's gradients.
  void begin_step(int backwards = 1);

  // Updates the parameters and exchanges. Waits for the group as the strategy demands. `loss`: what
  // the records should say that it was.
  Outcome step(const std::optional<double>& loss = {});

  // Whether the steps that `attach` was told of are over: this worker's own, or where each worker
  // has its own pace, those of all together. A loop that asks suits every strategy.
  bool is_over() const;

  // Completes whatever is in flight. Steps are over after this. With a strategy that outlives the
  // loss of workers, waits for all others.
  void finish();

  // The mean of all workers' parameters and statistics, in the module for the lifetime of the
  // object. A collective.
  class Consensus {
   public:
    // Root mean square distance of the workers' parameters from their mean, relative to the mean's
    // norm. Not finite where they are not.
    double drift() const { return drift_; }

   private:
    friend class Sync;
    explicit Consensus(Sync& sync);
    KeptModel own_;
    double drift_ = 0;
  };
  Consensus consensus() { return Consensus(*this); }

  // The drift alone. A collective, of the size of the model.
  double drift();

  // Further models of the strategy, by name, each like the flat parameters.
  std::map<std::string, at::Tensor> models() const;

  // See Strategy.
  const Traits& traits() const;

  // Everybody; after `finish`, everybody who was not lost.
  const Group& present() const;

  Step next_step() const;

  // How many steps of the run are done: this worker's own, unless the strategy counts otherwise.
  double progress() const;
  const Replica& replica() const;

  // All state of this worker by name, for checkpoints: the module's, the optimizer's and the
  // strategy's. REQUIRES: between steps.
  std::map<std::string, at::Tensor> save() const;

  // REQUIRES: a state that `save` made of the same model, optimizer and strategy.
  void load(const std::map<std::string, at::Tensor>& state);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace huddle
