// The controller of P-Reduce as a service: where it runs, and how its workers ask it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "huddle/strategy/entry.h"
#include "huddle/strategy/p_reduce/controller.h"
#include "huddle/transport/requests.h"

namespace huddle {

// Used by one worker's own thread.
class ControllerService {
 public:
  ControllerService(const ControllerOptions& options, const StrategyContext& context);

  // At its home, begins to answer, for a run of `steps` steps of each worker of which `done` are
  // done. Once.
  void start(std::int64_t steps, std::int64_t done);
  bool has_started() const { return service_.has_started(); }

  // Waits for a group. Throws PeerLost that names the controller if its home is lost, and
  // TransportError if the controller has given this worker up.
  Assignment ask(const Request& request) { return ask(endpoint_, request); }

  // The same by a program beside the worker, which waits in its place.
  Assignment ask(Endpoint& beside, const Request& request);

  // Takes no further part. The home waits until nobody does.
  void leave();

  // See Controller; of the home, once the controller has ended.
  std::map<std::string, double> figures() const;

 private:
  Endpoint& endpoint_;
  ControllerOptions options_;
  std::unique_ptr<Controller> controller_;  // At its home only.
  Service service_;
  Client<Request, Assignment> client_;
};

}  // namespace huddle
