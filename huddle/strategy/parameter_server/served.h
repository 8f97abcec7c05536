// Training with a sharded parameter server: what asp and ssp have in common, seen from a worker.
//
//   gradient at the parameters last received -> push each server its slice, bucket by bucket, while
//   backward goes on -> wait for all answers -> the parameters are the servers'
//
// Workers run no optimizer of their own: the rule, its momentum and its count of updates are the
// servers' (parameter_server.h). BatchNorm statistics stay local: training never reads them, and
// the trainer averages them with the final models.
//
// The run ends after as many steps as all workers together were to take, whoever takes them. Who
// has taken its last goes on serving until everybody has. A worker that is lost takes its part of
// the model with it: the run ends for all, with an error that says so.

#pragma once

#include <memory>

#include "huddle/strategy/parameter_server/parameter_server.h"
#include "huddle/strategy/registry.h"

namespace huddle {

// The keys that both take: buckets.
std::vector<KeyInfo> served_keys();

// Sets budget and deadline of `server` itself.
std::unique_ptr<Strategy> make_served(const ServerOptions& server, const Options& options,
                                      const StrategyContext& context);

}  // namespace huddle
