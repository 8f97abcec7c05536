#include "huddle/train/logged_run.h"

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/train/remote_logs.h"

namespace huddle {
namespace {

// Of the worker that diverged first, the lowest of them.
std::optional<std::string> divergence_in(const std::vector<WorkerLog>& logs) {
  const WorkerLog* first = nullptr;
  for (const WorkerLog& log : logs)
    if (log.diverged && (first == nullptr || *log.diverged < *first->diverged)) first = &log;
  if (first == nullptr) return std::nullopt;
  const std::int64_t last = first->diverged->value;
  return concat("the training diverged: the loss of worker ", first - logs.data(),
                " was not finite in ", kDivergedAfter, " steps in a row, ",
                last - kDivergedAfter + 1, " to ", last,
                "; a lower learning rate (--lr) or clipped gradients (--clip 1) may help, and "
                "--keep-going trains on all the same");
}

}  // namespace

TrainResult run_logged(Launcher& launcher, const TrainOptions& options,
                       const StepObserver& observer,
                       const std::function<void(Endpoint&, Recorder&)>& body) {
  std::vector<WorkerLog> logs(static_cast<std::size_t>(options.workers));
  logs.front().strategy = options.strategy;
  logs.front().steps = options.steps;
  // Where worker 0 is elsewhere, its process is told what would be written down here.
  const bool is_told = !launcher.is_here({0});
  TrainOptions told = options;
  if (is_told) told.finished = finish_told_by(launcher);
  const StepObserver observed = is_told ? told_by(launcher) : observer;
  if (!is_told) hear_logs(launcher, options, observer, logs);
  std::exception_ptr error;
  std::vector<Loss> losses;
  try {
    losses = launcher.run([&](Endpoint& endpoint) {
      const WorkerId self = endpoint.self();
      WorkerLog& log = logs[static_cast<std::size_t>(self.value)];
      Recorder recorder(self, told, observed, log);
      try {
        body(endpoint, recorder);
      } catch (...) {
        if (is_told) tell_log(launcher, log);
        throw;
      }
      if (is_told) tell_log(launcher, log);
    });
  } catch (...) {
    error = std::current_exception();  // Told with the result.
  }
  TrainResult result{summarise(logs), error, std::ranges::any_of(logs, &WorkerLog::tells_loss)};
  Summary& summary = result.summary;
  if (!error && logs.front().was_let_out)
    result.error = std::make_exception_ptr(Interrupted("interrupted"));
  if (const auto divergence = divergence_in(logs)) {
    result.error = std::make_exception_ptr(Diverged(*divergence));
    summary.warnings.push_back(*divergence);
  }
  summary.batch = options.batch;
  if (summary.seconds > 0)
    summary.samples_per_second =
        static_cast<double>(summary.steps_taken * options.batch * options.accumulate) /
        summary.seconds;
  summary.links = launcher.link_uses();
  for (const Loss& loss : losses) {
    summary.lost.push_back(loss.reason);
    if (is_told && loss.worker == WorkerId{0} && !result.error)
      result.error = std::make_exception_ptr(
          Error(concat(loss.reason, "; its process kept the records of this run")));
  }
  if (!result.error && std::ssize(losses) == options.workers)
    result.error = std::make_exception_ptr(
        Error(concat("no worker is left, and no model with them: ", losses.front().reason)));
  return result;
}

Ending ending_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted& stopped) {
    return {"interrupted", stopped.what()};
  } catch (const Diverged& divergence) {
    return {"diverged", divergence.what()};
  } catch (const std::exception& failure) {
    return {concat("failed: ", failure.what()), failure.what()};
  } catch (...) {
    return {"failed: an exception of unknown type", "an exception of unknown type"};
  }
}

}  // namespace huddle
