#include "huddle/train/trainer.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/gather.h"
#include "huddle/train/evaluation/swa.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/logged_run.h"
#include "huddle/train/recorder.h"

namespace huddle {
namespace {

// One worker's run.
class WorkerLoop {
 public:
  WorkerLoop(Endpoint& endpoint, Launcher& launcher, const Problem& problem,
             const TrainOptions& options, Recorder& recorder)
      : endpoint_(endpoint),
        launcher_(launcher),
        options_(options),
        recorder_(recorder),
        log_(recorder.log()),
        steps_per_epoch_(problem.steps_per_epoch()),
        workload_(problem.workload(endpoint_.self())),
        rate_(options.schedule, options.update.learning_rate, options.steps),
        sync_(endpoint_, workload_->module(), options.update, options.strategy,
              {.topology = options.topology,
               .deadline = options.deadline,
               .clip_norm = options.clip_norm,
               .steps = options.steps,
               .compute = options.compute,
               .payload_scale = options.payload_scale,
               .keeps_blocked = options.keeps_blocked,
               .recorder = &recorder}),
        swa_({.start = options.swa_start, .every = options.swa_every, .steps = options.steps}) {
    if (options.resume) {
      const NamedTensors state = options.resume(endpoint_.self());
      sync_.load(state);
      swa_.load(state);
    }
    saved_step_ = sync_.next_step().value;
  }

  void run() {
    while (!sync_.is_over() && is_let_in()) {
      take_step();
      if (!log_.has_own_pace && options_.save && options_.save_every > 0 &&
          log_.steps_done % options_.save_every == 0 && log_.steps_done < options_.steps)
        save();
    }
    // Before anything is completed: it stands between two steps of a run that goes on.
    const bool is_new = !log_.was_let_out || log_.steps_done > saved_step_;
    if (!log_.has_own_pace && options_.save && is_new) save();
    sync_.finish();
    swa_.complete(sync_.replica().parameters());
    if (log_.was_let_out) return;
    if (log_.has_own_pace && options_.save) save();
    evaluate();
  }

 private:
  // Where steps are counted, the same on all workers.
  bool is_let_in() {
    if (log_.has_own_pace || options_.gate == nullptr) return true;
    log_.was_let_out = !options_.gate->admits(sync_.next_step());
    return !log_.was_let_out;
  }

  void take_step() {
    const Step step = sync_.next_step();
    sync_.set_learning_rate(rate_.at(sync_.progress()));
    sync_.begin_step(options_.accumulate);
    double loss = 0;
    for (int pass = 0; pass < options_.accumulate; ++pass) {
      endpoint_.compute(step, 0);  // A run that was stopped ends here.
      const at::Tensor share =
          workload_->loss(step.value * options_.accumulate + pass) / options_.accumulate;
      share.backward();
      loss += share.item<double>();
    }
    const Outcome outcome = sync_.step(loss);
    swa_.offer(outcome.progress, sync_.replica().parameters());
    look_at(loss, step);
  }

  // Ends the run for everybody once it has diverged. Nobody is lost: all are stopped, whatever they
  // are doing and whether or not they depend on this worker.
  void look_at(double loss, Step step) {
    not_finite_ = std::isfinite(loss) ? 0 : not_finite_ + 1;
    if (not_finite_ < kDivergedAfter || options_.keep_going) return;
    log_.diverged = step;
    launcher_.stop("diverged");
    throw Interrupted("diverged");
  }

  bool is_first() const { return endpoint_.self() == WorkerId{0}; }

  void evaluate() {
    // An engine notices there whether the run has been stopped.
    const auto between = [&] {
      endpoint_.compute(sync_.next_step(), 0);
      if (options_.gate != nullptr && options_.gate->is_closed()) throw Interrupted("interrupted");
    };
    const Judge judge = [&] { return workload_->evaluate(between); };
    const bool recomputes = sync_.traits().statistics == StatisticsPolicy::recompute;
    if (recomputes) workload_->recompute_statistics(steps_per_epoch_, between);
    log_.own = judge();
    log_.drift = sync_.drift();
    if (recomputes) {
      log_.consensus = evaluate_as(sync_.replica().parameters(), between);
    } else {
      const Sync::Consensus consensus = sync_.consensus();
      if (is_first()) log_.consensus = judge();
    }
    if (!swa_.empty()) log_.swa = evaluate_as(swa_.mean(), between);
    for (const auto& [name, parameters] : sync_.models())
      if (const auto quality = evaluate_as(parameters, between)) log_.others[name] = *quality;
    recorder_.evaluate_kept(sync_, judge);
  }

  // How good the mean of the workers' `parameters` is, told by worker 0. A collective. Its
  // statistics are measured anew, because nobody trained with these parameters.
  std::optional<Quality> evaluate_as(const at::Tensor& parameters,
                                     const std::function<void()>& between) {
    const KeptModel own(sync_.replica());
    sync_.replica().parameters().copy_(parameters);
    const Sync::Consensus mean = sync_.consensus();
    workload_->recompute_statistics(steps_per_epoch_, between);
    const Sync::Consensus with_statistics =
        sync_.consensus();  // Each worker measured on its own data.
    return is_first() ? std::optional(workload_->evaluate(between)) : std::nullopt;
  }

  void save() {
    if (sync_.present().size() < endpoint_.workers()) return save_consensus_alone();
    CheckpointInfo info{.step = log_.has_own_pace ? options_.steps : log_.steps_done,
                        .settings = options_.saved_settings,
                        .settled = log_.settled};
    NamedTensors state = sync_.save();
    swa_.save(state);
    const Digest digest = options_.save->save_worker(info.step, endpoint_.self(), state);
    {
      const Sync::Consensus consensus = sync_.consensus();
      if (is_first())
        info.consensus =
            hex_of(options_.save->save_consensus(info.step, state_dict(workload_->module())));
    }
    info.workers = gather_hashes(digest);
    const bool is_worth_it = options_.keep_going || are_all_finite();
    if (is_first()) {
      if (is_worth_it)
        options_.save->commit(info);
      else
        discard(info.step);
    }
    meet();  // Nobody goes on, or away, before the checkpoint is whole.
    saved_step_ = info.step;
  }

  // By worker, told to worker 0 alone. A collective: everybody's file is written once it is over.
  std::vector<std::string> gather_hashes(Digest digest) {
    const at::Tensor own = at::from_blob(digest.data(), {std::ssize(digest)}, at::kByte);
    std::vector<std::string> hashes;
    for (const at::Tensor& one : gather_at_worker_0(own)) {
      std::copy_n(one.const_data_ptr<std::uint8_t>(), digest.size(), digest.begin());
      hashes.push_back(hex_of(digest));
    }
    return hashes;
  }

  // Whether all workers' models are, told to worker 0 alone. A collective.
  bool are_all_finite() {
    const std::vector<at::Tensor> all =
        gather_at_worker_0(sync_.replica().parameters().isfinite().all().reshape({1}));
    return std::all_of(all.begin(), all.end(),
                       [](const at::Tensor& one) { return one.item<bool>(); });
  }

  std::vector<at::Tensor> gather_at_worker_0(const at::Tensor& own) {
    const Tag tag{.kind = Kind::control, .lane = kMeasureLane, .sequence = {meetings_++}};
    return gather(endpoint_, sync_.present(), WorkerId{0}, own, tag, options_.deadline);
  }

  // A checkpoint of models that are not finite would take the place of one that is of use.
  void discard(std::int64_t step) {
    options_.save->discard(step);
    if (std::exchange(has_discarded_, true)) return;  // Once is enough.
    log_.warnings.push_back(
        concat("no checkpoint was kept after step ", step,
               ": models were not finite; --keep-going keeps it all the same."));
  }

  void meet() {
    barrier(endpoint_, sync_.present(), {.lane = kMeasureLane, .sequence = {meetings_++}},
            options_.deadline);
  }

  void save_consensus_alone() {
    const Sync::Consensus consensus = sync_.consensus();
    if (!is_first()) return;
    options_.save->save_consensus_alone(state_dict(workload_->module()));
    log_.warnings.push_back(
        "workers were lost, so there is no checkpoint to resume from; consensus.pt holds the mean "
        "of the others.");
  }

  Endpoint& endpoint_;
  Launcher& launcher_;
  const TrainOptions& options_;
  Recorder& recorder_;
  WorkerLog& log_;
  const std::int64_t steps_per_epoch_;
  const std::unique_ptr<Workload> workload_;
  const LearningRate rate_;
  Sync sync_;
  RunningMean swa_;
  std::uint32_t meetings_ = 0;
  int not_finite_ = 0;  // Losses in a row that were not.
  bool has_discarded_ = false;
  std::int64_t saved_step_ = 0;  // The step of the newest checkpoint, or that of the beginning.
};

}  // namespace

TrainResult train(Launcher& launcher, const Problem& problem, const TrainOptions& options,
                  const StepObserver& observer) {
  return run_logged(launcher, options, observer, [&](Endpoint& endpoint, Recorder& recorder) {
    WorkerLoop(endpoint, launcher, problem, options, recorder).run();
  });
}

}  // namespace huddle
