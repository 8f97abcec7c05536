#include "huddle/train/logged_run.h"

namespace huddle {

TrainResult run_logged(Launcher& launcher, const TrainOptions& options,
                       const std::function<void(Endpoint&, WorkerLog&)>& body) {
  std::vector<WorkerLog> logs(static_cast<std::size_t>(options.workers));
  std::exception_ptr error;
  std::vector<Loss> losses;
  try {
    losses = launcher.run([&](Endpoint& endpoint) {
      body(endpoint, logs[static_cast<std::size_t>(endpoint.self().value)]);
    });
  } catch (...) {
    error = std::current_exception();  // Told with the result.
  }
  TrainResult result{summarise(logs), error};
  Summary& summary = result.summary;
  summary.strategy = options.strategy;
  summary.steps = options.steps;
  summary.links = launcher.link_uses();
  for (const Loss& loss : losses) summary.lost.push_back(loss.reason);
  return result;
}

}  // namespace huddle
