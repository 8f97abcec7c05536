#include "huddle/train/worker.h"

#include <torch/nn/module.h>

#include "huddle/base/error.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/optimizer.h"

namespace huddle {

Sync Worker::attach(torch::nn::Module& module, torch::optim::Optimizer& optimizer,
                    std::string_view strategy, AttachOptions options) {
  options.topology = run_.topology;
  options.compute = run_.compute;
  if (recorder_.has_begun()) return Sync(endpoint_, module, optimizer, strategy, options);
  if (run_.evaluate_every > 0 && options.steps == 0)
    throw UsageError(
        "evaluate_every needs to know how many steps there are: attach(model, optimizer, strategy, "
        "{.steps = 1000}).");
  if (wire_.bytes > 0) options.payload_scale = wire_.bytes / parameter_bytes(module);
  wire_.scale.set(options.payload_scale);
  options.keeps_blocked = run_.keeps_blocked;
  options.recorder = &recorder_;
  const std::optional<UpdateOptions> rule = update_options(optimizer);
  WorkerLog& log = recorder_.log();
  log.strategy = strategy;
  log.model = module.name();
  log.optimizer = rule ? kOptimizers.at(static_cast<std::size_t>(rule->kind)) : "the user's own";
  log.steps = options.steps;
  return Sync(endpoint_, module, optimizer, strategy, options);
}

void Worker::evaluate(Sync& sync, const Judge& judge) {
  if (!recorder_.is_of(sync.replica()))
    throw UsageError(
        "a run's records are of the model that was attached first: evaluate that one, and judge "
        "others yourself, in a block of `auto consensus = sync.consensus();`.");
  WorkerLog& log = recorder_.log();
  if (sync.traits().statistics == StatisticsPolicy::recompute &&
      sync.replica().statistics().numel() > 0)
    log.warnings.push_back(
        "statistics=recompute: only huddle train has the data to measure BatchNorm statistics "
        "anew; models were judged with the mean of the workers' own.");
  log.own = judge();
  {
    const Sync::Consensus consensus = sync.consensus();
    log.drift = consensus.drift();
    if (id() == 0) log.consensus = judge();
  }
  if (sync.replica().statistics().numel() == 0)
    for (const auto& [name, parameters] : sync.models()) {
      const KeptModel own(sync.replica());
      sync.replica().parameters().copy_(parameters);
      const Sync::Consensus consensus = sync.consensus();
      if (id() == 0) log.others[name] = judge();
    }
  recorder_.evaluate_kept(sync, judge);
}

}  // namespace huddle
