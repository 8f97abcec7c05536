#include "huddle/train/trainer.h"

#include <torch/nn/module.h>
#include <torch/optim.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "huddle/collective/barrier.h"
#include "huddle/core/error.h"
#include "huddle/core/text.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/learning_rate.h"
#include "huddle/train/optimizer.h"
#include "huddle/train/swa.h"
#include "huddle/train/worker.h"

namespace huddle {
namespace {

// The closing loss is the mean of so many last steps: single batches are too noisy to compare.
constexpr std::size_t kLastSteps = 50;

// What one worker leaves behind. Written by its own thread, read after the run.
struct WorkerLog {
  std::int64_t steps_done = 0;
  std::int64_t first_step = 0;
  std::int64_t parameters = 0;
  TimeSplit time;
  std::int64_t bytes_sent = 0;
  Seconds seconds = 0;
  std::deque<double> last_losses;
  std::optional<Quality> own;
  std::optional<Quality> consensus;
  std::optional<Quality> swa;
  std::optional<double> drift;
};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(torch::nn::Module& module,
                                                        const UpdateOptions& update) {
  const auto with_betas = [&](auto options) {
    return options.betas({update.beta1, update.beta2})
        .eps(update.epsilon)
        .weight_decay(update.weight_decay);
  };
  switch (update.kind) {
    case UpdateOptions::Kind::sgd:
      return std::make_unique<torch::optim::SGD>(module.parameters(),
                                                 torch::optim::SGDOptions(update.learning_rate)
                                                     .momentum(update.momentum)
                                                     .nesterov(update.nesterov)
                                                     .weight_decay(update.weight_decay));
    case UpdateOptions::Kind::adam:
      return std::make_unique<torch::optim::Adam>(
          module.parameters(), with_betas(torch::optim::AdamOptions(update.learning_rate)));
    case UpdateOptions::Kind::adamw:
      return std::make_unique<torch::optim::AdamW>(
          module.parameters(), with_betas(torch::optim::AdamWOptions(update.learning_rate)));
  }
  throw LogicError("an optimizer of no kind");
}

// One worker's run.
class WorkerLoop {
 public:
  WorkerLoop(Worker& worker, const Problem& problem, const TrainOptions& options,
             const StepObserver& observer, WorkerLog& log)
      : worker_(worker),
        endpoint_(worker.endpoint()),
        options_(options),
        observer_(observer),
        log_(log),
        steps_per_epoch_(problem.steps_per_epoch()),
        workload_(problem.workload(endpoint_.self())),
        optimizer_(make_optimizer(workload_->module(), options.update)),
        rate_(options.schedule, options.update.learning_rate, options.steps),
        sync_(worker.attach(workload_->module(), *optimizer_, options.strategy,
                            {.workers_per_rack = options.workers_per_rack,
                             .deadline = options.deadline,
                             .clip_norm = options.clip_norm})) {
    if (!options.resume.empty()) {
      const NamedTensors& state = options.resume[static_cast<std::size_t>(worker.id())];
      sync_.load(state);
      swa_.load(state);
    }
    log_.parameters = sync_.replica().parameters().numel();
    log_.first_step = log_.steps_done = sync_.next_step().value;
  }

  void run() {
    double progress = static_cast<double>(sync_.next_step().value);
    for (bool go_on = true; go_on && sync_.next_step().value < options_.steps;) {
      const Outcome outcome = take_step(progress);
      progress = outcome.progress;
      go_on = outcome.go_on;
      if (options_.save && options_.save_every > 0 && log_.steps_done % options_.save_every == 0 &&
          log_.steps_done < options_.steps)
        save();
    }
    sync_.finish();
    if (options_.save)
      save();  // First: an evaluation can be interrupted, and the training must not be lost.
    evaluate();
  }

 private:
  Outcome take_step(double progress) {
    const Step step = sync_.next_step();
    const Time begin = endpoint_.now();
    endpoint_.compute(step, options_.compute_per_step);
    set_learning_rate(*optimizer_, rate_.at(progress));
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
    record(step, loss, outcome, begin, endpoint_.now());
    if (options_.swa_start > 0 && step.value >= options_.swa_start &&
        (step.value - options_.swa_start) % options_.swa_every == 0)
      swa_.add(sync_.replica().parameters());
    return outcome;
  }

  void record(Step step, double loss, const Outcome& outcome, Time begin, Time end) {
    const Meter::Total traffic = sync_.take_traffic();
    StepRecord line{.worker = endpoint_.self(),
                    .step = step,
                    .end = log_.seconds + (end - begin),
                    .loss = loss,
                    .learning_rate = learning_rate(*optimizer_),
                    .time = traffic.time,
                    .bytes_sent = traffic.bytes_sent,
                    .messages_sent = traffic.messages_sent,
                    .group = outcome.group};
    line.time.compute = std::max(0.0, end - begin - traffic.time.wait - traffic.time.exchange);
    log_.seconds += end - begin;
    log_.steps_done = step.value + 1;
    log_.bytes_sent += traffic.bytes_sent;
    log_.time.compute += line.time.compute;
    log_.time.wait += line.time.wait;
    log_.time.exchange += line.time.exchange;
    log_.time.hidden += line.time.hidden;
    log_.last_losses.push_back(loss);
    if (log_.last_losses.size() > kLastSteps) log_.last_losses.pop_front();
    // Measuring is not training: it is neither timed nor counted.
    if (options_.drift_every > 0 && log_.steps_done % options_.drift_every == 0)
      line.drift = log_.drift = sync_.drift();
    observer_(line);
  }

  void evaluate() {
    // An engine notices there whether the run has been stopped.
    const auto between = [&] { endpoint_.compute(sync_.next_step(), 0); };
    log_.own = workload_->evaluate(between);
    {
      const Sync::Consensus consensus = sync_.consensus();
      log_.drift = consensus.drift();
      if (worker_.id() == 0) log_.consensus = workload_->evaluate(between);
    }
    if (swa_.empty()) return;
    const at::Tensor own = sync_.replica().parameters().clone();
    const at::Tensor own_statistics = sync_.replica().statistics().clone();
    sync_.replica().parameters().copy_(swa_.mean());
    {
      const Sync::Consensus mean = sync_.consensus();
      workload_->recompute_statistics(steps_per_epoch_, between);
      const Sync::Consensus with_statistics =
          sync_.consensus();  // Each worker measured on its own data.
      if (worker_.id() == 0) log_.swa = workload_->evaluate(between);
    }
    sync_.replica().parameters().copy_(own);
    sync_.replica().statistics().copy_(own_statistics);
  }

  void save() {
    const std::int64_t step = log_.steps_done;
    NamedTensors state = sync_.save();
    swa_.save(state);
    options_.save->save_worker(step, endpoint_.self(), state);
    {
      const Sync::Consensus consensus = sync_.consensus();
      if (worker_.id() == 0) options_.save->save_consensus(state_dict(workload_->module()));
    }
    // Everybody's file is written once everybody is here.
    barrier(endpoint_, Group::everyone(worker_.workers()),
            {.sequence = {static_cast<std::uint32_t>(step)}}, options_.deadline);
    if (worker_.id() == 0)
      options_.save->commit({step, worker_.workers(), options_.saved_settings});
  }

  Worker& worker_;
  Endpoint& endpoint_;
  const TrainOptions& options_;
  const StepObserver& observer_;
  WorkerLog& log_;
  const std::int64_t steps_per_epoch_;
  const std::unique_ptr<Workload> workload_;
  const std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const LearningRate rate_;
  Sync sync_;
  RunningMean swa_;
};

double mean_of(const std::deque<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

Summary summarise(const TrainOptions& options, const std::vector<WorkerLog>& logs) {
  Summary summary;
  summary.strategy = options.strategy;
  summary.workers = options.workers;
  summary.batch = options.batch;
  summary.steps = options.steps;
  summary.steps_done = logs.front().steps_done;
  summary.parameters = logs.front().parameters;
  summary.consensus = logs.front().consensus;
  summary.swa = logs.front().swa;
  summary.drift = logs.front().drift;
  std::int64_t steps_taken = 0;
  int reporting = 0;
  for (const WorkerLog& log : logs) {
    summary.steps_done = std::min(summary.steps_done, log.steps_done);
    summary.seconds = std::max(summary.seconds, log.seconds);
    summary.time.push_back(log.time);
    summary.bytes_sent_per_worker += static_cast<double>(log.bytes_sent) / options.workers;
    steps_taken += log.steps_done - log.first_step;
    if (log.own) summary.by_worker.push_back(*log.own);
    if (log.last_losses.empty()) continue;
    summary.loss += mean_of(log.last_losses);
    ++reporting;
  }
  if (reporting > 0) summary.loss /= reporting;
  const auto samples = static_cast<double>(steps_taken * options.batch * options.accumulate);
  if (summary.seconds > 0) summary.samples_per_second = samples / summary.seconds;
  return summary;
}

}  // namespace

TrainResult train(Launcher& launcher, const Problem& problem, const TrainOptions& options,
                  const StepObserver& observer) {
  std::vector<WorkerLog> logs(static_cast<std::size_t>(options.workers));
  std::exception_ptr error;
  std::vector<Loss> losses;
  try {
    losses = run(launcher, [&](Worker& worker) {
      WorkerLoop(worker, problem, options, observer, logs[static_cast<std::size_t>(worker.id())])
          .run();
    });
  } catch (...) {
    error = std::current_exception();  // Told with the result.
  }
  TrainResult result{summarise(options, logs), error};
  for (const Loss& loss : losses) result.summary.lost.push_back(loss.reason);
  return result;
}

}  // namespace huddle
