#include "huddle/train/trainer.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/gather.h"
#include "huddle/train/evaluation/snapshots.h"
#include "huddle/train/evaluation/swa.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/logged_run.h"
#include "huddle/train/worker.h"

namespace huddle {
namespace {

// One worker's run.
class WorkerLoop {
 public:
  WorkerLoop(Worker& worker, Launcher& launcher, const Problem& problem,
             const TrainOptions& options, const StepObserver& observer, WorkerLog& log)
      : worker_(worker),
        launcher_(launcher),
        endpoint_(worker.endpoint()),
        options_(options),
        observer_(observer),
        log_(log),
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
               .keeps_blocked = options.keeps_blocked}),
        swa_({.start = options.swa_start, .every = options.swa_every, .steps = options.steps}) {
    if (options.resume) {
      const NamedTensors state = options.resume(endpoint_.self());
      sync_.load(state);
      swa_.load(state);
    }
    if (sync_.traits().statistics == StatisticsPolicy::keep &&
        sync_.replica().statistics().numel() > 0)
      log_.warnings.push_back(
          "the model has BatchNorm, and this strategy leaves each worker its own statistics "
          "(statistics=keep, as published): average and recompute are the other choices.");
    log_.payload_scale = options.payload_scale;
    log_.has_own_pace = sync_.traits().pace == Pace::own;
    log_.parameters = sync_.replica().parameters().numel();
    log_.first_step = log_.steps_done = saved_step_ = sync_.next_step().value;
    snapshots_.emplace(options.evaluate_every, options.steps, sync_.progress());
  }

  void run() {
    while (!sync_.is_over() && is_let_in()) {
      take_step();
      if (!log_.has_own_pace && options_.save && options_.save_every > 0 &&
          log_.steps_done % options_.save_every == 0 && log_.steps_done < options_.steps)
        save();
    }
    // First: it stands between two steps of a run that goes on.
    if (log_.was_let_out && options_.save && log_.steps_done > saved_step_) save();
    finish();
    if (log_.was_let_out) return;
    if (options_.save)
      save();  // First: an evaluation can be interrupted, and the training must not be lost.
    evaluate();
  }

 private:
  // Where steps are counted, the same on all workers.
  bool is_let_in() {
    if (log_.has_own_pace || options_.gate == nullptr) return true;
    log_.was_let_out = !options_.gate->admits(sync_.next_step());
    return !log_.was_let_out;
  }

  void finish() {
    sync_.finish();
    const std::vector<Blocked> blocked =
        log_.add_traffic(sync_.take_traffic());  // Of what was still in flight.
    if (!blocked.empty()) options_.finished(endpoint_.self(), blocked);
    log_.figures = sync_.figures();
    snapshots_->complete(log_.seconds, sync_.replica());
    swa_.complete(sync_.replica().parameters());
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
    const Outcome outcome = sync_.step();
    observer_(log_.add(endpoint_.self(), sync_.take_step(), loss));
    snapshots_->offer(outcome.progress, log_.seconds, sync_.replica());
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

  void evaluate() {
    // An engine notices there whether the run has been stopped.
    const auto between = [&] {
      endpoint_.compute(sync_.next_step(), 0);
      if (options_.gate != nullptr && options_.gate->is_closed()) throw Interrupted("interrupted");
    };
    const bool recomputes = sync_.traits().statistics == StatisticsPolicy::recompute;
    if (recomputes) workload_->recompute_statistics(steps_per_epoch_, between);
    log_.own = workload_->evaluate(between);
    log_.drift = sync_.drift();
    if (recomputes) {
      log_.consensus = evaluate_as(sync_.replica().parameters(), between);
    } else {
      const Sync::Consensus consensus = sync_.consensus();
      if (worker_.id() == 0) log_.consensus = workload_->evaluate(between);
    }
    if (!swa_.empty()) log_.swa = evaluate_as(swa_.mean(), between);
    for (const auto& [name, parameters] : sync_.models())
      if (const auto quality = evaluate_as(parameters, between)) log_.others[name] = *quality;
    evaluate_snapshots(between);
  }

  // Nothing of this worker's model is needed any more.
  void evaluate_snapshots(const std::function<void()>& between) {
    std::deque<Snapshot>& kept = snapshots_->kept();
    for (const std::size_t all = kept.size(); !kept.empty(); kept.pop_front()) {
      const Snapshot& snapshot = kept.front();
      log_.snapshot_times.push_back(snapshot.time);
      sync_.replica().parameters().copy_(snapshot.parameters);
      sync_.replica().statistics().copy_(snapshot.statistics);
      const Sync::Consensus consensus = sync_.consensus();
      if (worker_.id() != 0) continue;
      log_.curve.push_back({.progress = snapshot.progress,
                            .consensus = workload_->evaluate(between),
                            .drift = consensus.drift()});
      options_.evaluated(std::ssize(log_.curve), static_cast<std::int64_t>(all));
    }
  }

  // How good the mean of the workers' `parameters` is, told by worker 0. A collective. Its
  // statistics are measured anew, because nobody trained with these parameters.
  std::optional<Quality> evaluate_as(const at::Tensor& parameters,
                                     const std::function<void()>& between) {
    const at::Tensor own = sync_.replica().parameters().clone();
    const at::Tensor own_statistics = sync_.replica().statistics().clone();
    sync_.replica().parameters().copy_(parameters);
    std::optional<Quality> quality;
    {
      const Sync::Consensus mean = sync_.consensus();
      workload_->recompute_statistics(steps_per_epoch_, between);
      const Sync::Consensus with_statistics =
          sync_.consensus();  // Each worker measured on its own data.
      if (worker_.id() == 0) quality = workload_->evaluate(between);
    }
    sync_.replica().parameters().copy_(own);
    sync_.replica().statistics().copy_(own_statistics);
    return quality;
  }

  void save() {
    if (sync_.present().size() < worker_.workers()) return save_consensus_alone();
    CheckpointInfo info{.step = log_.has_own_pace ? options_.steps : log_.steps_done,
                        .settings = options_.saved_settings};
    NamedTensors state = sync_.save();
    swa_.save(state);
    const Digest digest = options_.save->save_worker(info.step, endpoint_.self(), state);
    {
      const Sync::Consensus consensus = sync_.consensus();
      if (worker_.id() == 0)
        info.consensus =
            hex_of(options_.save->save_consensus(info.step, state_dict(workload_->module())));
    }
    info.workers = gather_hashes(digest);
    const bool is_worth_it = options_.keep_going || are_all_finite();
    if (worker_.id() == 0) {
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
    if (worker_.id() != 0) return;
    options_.save->save_consensus_alone(state_dict(workload_->module()));
    log_.warnings.push_back(
        "workers were lost, so there is no checkpoint to resume from; consensus.pt holds the mean "
        "of the others.");
  }

  Worker& worker_;
  Launcher& launcher_;
  Endpoint& endpoint_;
  const TrainOptions& options_;
  const StepObserver& observer_;
  WorkerLog& log_;
  const std::int64_t steps_per_epoch_;
  const std::unique_ptr<Workload> workload_;
  const LearningRate rate_;
  Sync sync_;
  RunningMean swa_;
  std::optional<Snapshots> snapshots_;
  std::uint32_t meetings_ = 0;
  int not_finite_ = 0;  // Losses in a row that were not.
  bool has_discarded_ = false;
  std::int64_t saved_step_ = 0;  // The step of the newest checkpoint, or that of the beginning.
};

}  // namespace

TrainResult train(Launcher& launcher, const Problem& problem, const TrainOptions& options,
                  const StepObserver& observer) {
  TrainResult result = run_logged(launcher, options, [&](Endpoint& endpoint, WorkerLog& log) {
    Worker worker(endpoint);
    WorkerLoop(worker, launcher, problem, options, observer, log).run();
  });
  Summary& summary = result.summary;
  summary.batch = options.batch;
  if (summary.seconds > 0)
    summary.samples_per_second =
        static_cast<double>(summary.steps_taken * options.batch * options.accumulate) /
        summary.seconds;
  return result;
}

}  // namespace huddle
