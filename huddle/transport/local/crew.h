// The workers of one process, run to their end: what the launchers of `threads` and `sim` have in
// common.

#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "huddle/transport/launcher.h"
#include "huddle/transport/local/endpoint.h"

namespace huddle {

// How the workers of one run ended. Told by the workers' threads of control, asked after all have
// ended.
class Endings {
 public:
  void died(const Loss& loss);
  void failed();    // By itself, with the exception in flight.
  void followed();  // Because another had ended, likewise.

  // The workers that died; throws what a worker failed of, the first cause before what followed.
  std::vector<Loss> conclude() const;

 private:
  std::mutex mutex_;  // Never held while waiting. Guards:
  std::vector<Loss> deaths_;
  std::exception_ptr first_cause_;
  std::exception_ptr first_follower_;
};

// Runs the body of worker `id` in the calling thread of control and tells hub and `endings` how it
// ended.
void run_worker(Hub& hub, WorkerId id, HubWorker::Memory memory,
                const std::function<void(Endpoint&)>& body, Endings& endings);

}  // namespace huddle
