#include "huddle/train/worker.h"

#include "huddle/transport/threads/launcher.h"

namespace huddle {

std::unique_ptr<Launcher> threads(int workers) {
  ThreadsOptions options;
  options.cluster.workers = workers;
  return make_threads_launcher(options);
}

std::vector<Loss> run(Launcher& engine, const std::function<void(Worker&)>& body) {
  return engine.run([&](Endpoint& endpoint) {
    Worker worker(endpoint);
    body(worker);
  });
}

std::vector<Loss> run(std::unique_ptr<Launcher> engine, const std::function<void(Worker&)>& body) {
  return run(*engine, body);
}

}  // namespace huddle
