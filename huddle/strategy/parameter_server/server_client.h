// One worker's side of the sharded parameter servers: pushes gradients, pulls parameters, and keeps
// the server beside it running.
//
// A worker that is lost takes its part of the model with it: the run ends for all, with an error
// that says so.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "huddle/strategy/entry.h"
#include "huddle/strategy/parameter_server/parameter_server.h"
#include "huddle/transport/requests.h"

namespace huddle {

// Used by the worker's own thread.
class ServerClient {
 public:
  // Sets what `server` leaves to the context: who counts, budget and deadline.
  ServerClient(ServerOptions server, const StrategyContext& context);

  // Starts the server beside this worker, with the replica's model. Once, and first.
  void start();

  // A bucket's gradients travel to the servers, scaled by the replica's rate factor.
  void push(const Bucket& bucket);

  // Waits until all parameters are the servers', and the meter hears that the worker was blocked
  // since `from`.
  ServerReply pull(Time from);

  // No step follows. Waits for the final parameters, and serves until everybody has them.
  void leave();

  // Of the server beside this worker.
  ServerState state() const;
  void resume(ServerState state) { resumed_ = std::move(state); }
  ServerState initial_state() const;

 private:
  void tell_servers(const Push& push);
  void receive_parameters();
  void settle(Time from);
  std::string share_of(WorkerId home) const;

  Endpoint& endpoint_;
  const Replica& replica_;
  Meter& meter_;
  ServerOptions options_;
  const WorkerId counting_;        // The server that counts is beside it.
  const Group everyone_;           // Each has a server beside it.
  Exchange exchange_;              // Of this step.
  ParameterServer::Sent counted_;  // What the meter knows of the server.
  std::optional<ServerState> resumed_;
  std::vector<Pending> pushed_;
  std::unique_ptr<ParameterServer> server_;
  Service service_;  // Last: the server ends before what it uses.
};

}  // namespace huddle
