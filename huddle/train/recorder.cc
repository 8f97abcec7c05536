#include "huddle/train/recorder.h"

#include <torch/nn/module.h>

#include <array>
#include <deque>
#include <limits>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/optimizer.h"

namespace huddle {

Sync Recorder::attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                      std::string_view strategy, AttachOptions options) {
  static constexpr std::array kOptimizers{"sgd", "adam", "adamw"};  // As UpdateOptions::Kind.
  const Cluster& cluster = setting_.cluster;
  options.topology = setting_.topology;
  options.compute = {cluster.compute_per_step, cluster.backward_share};
  if (snapshots_) return Sync(endpoint_, module, optimizer, strategy, options);
  if (setting_.evaluate_every > 0 && options.steps == 0)
    throw UsageError(
        "evaluate_every needs to know how many steps there are: attach(model, optimizer, strategy, "
        "{.steps = 1000}).");
  if (cluster.wire_bytes > 0) options.payload_scale = cluster.wire_bytes / parameter_bytes(module);
  setting_.payload_scale.set(options.payload_scale);
  options.keeps_blocked = setting_.keeps_blocked;
  options.recorder = this;
  const std::optional<UpdateOptions> rule = update_options(optimizer);
  attached_ = {std::string(strategy), module.name(),
               rule ? kOptimizers.at(static_cast<std::size_t>(rule->kind)) : "the user's own",
               options.steps};
  snapshots_.emplace(setting_.evaluate_every, options.steps, 0);
  Sync sync(endpoint_, module, optimizer, strategy, options);
  log_.payload_scale = options.payload_scale;
  log_.has_own_pace = sync.traits().pace == Pace::own;
  log_.parameters = sync.replica().parameters().numel();
  return sync;
}

void Recorder::taken(StepTaken step, const std::optional<double>& loss, const Replica& replica) {
  attached_.tells_loss = attached_.tells_loss || loss;
  const double progress = step.outcome.progress;
  setting_.taken(log_.add(endpoint_.self(), std::move(step),
                          loss.value_or(std::numeric_limits<double>::quiet_NaN())));
  snapshots_->offer(progress, log_.seconds, replica);
}

void Recorder::finished(Sync& sync) {
  const std::vector<Blocked> blocked = log_.add_traffic(sync.take_traffic());
  if (!blocked.empty()) setting_.finished(endpoint_.self(), blocked);
  log_.figures = sync.figures();
  snapshots_->complete(log_.seconds, sync.replica());
}

void Recorder::evaluate(Sync& sync, const Judge& judge) {
  const bool tells = endpoint_.self() == WorkerId{0};
  log_.own = judge();
  {
    const Sync::Consensus consensus = sync.consensus();
    log_.drift = consensus.drift();
    if (tells) log_.consensus = judge();
  }
  const at::Tensor parameters = sync.replica().parameters().clone();
  const at::Tensor statistics = sync.replica().statistics().clone();
  std::deque<Snapshot>& kept = snapshots_->kept();
  for (; !kept.empty(); kept.pop_front()) {
    const Snapshot& snapshot = kept.front();
    log_.snapshot_times.push_back(snapshot.time);
    sync.replica().parameters().copy_(snapshot.parameters);
    sync.replica().statistics().copy_(snapshot.statistics);
    const Sync::Consensus consensus = sync.consensus();
    if (tells)
      log_.curve.push_back(
          {.progress = snapshot.progress, .consensus = judge(), .drift = consensus.drift()});
  }
  sync.replica().parameters().copy_(parameters);
  sync.replica().statistics().copy_(statistics);
}

}  // namespace huddle
