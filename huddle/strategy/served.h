// Training with a parameter server: what asp and ssp have in common, seen from a worker.
//
//   gradient at the parameters last received -> push it, bucket by bucket, while backward goes on
//   -> wait for the server's answer -> the parameters are the server's
//
// Workers run no optimizer of their own: the rule, its momentum and its count of updates are the
// server's (parameter_server.h). BatchNorm statistics stay local: training never reads them, and
// the trainer averages them with the final models.
//
// The run ends after as many steps as all workers together were to take, whoever takes them. A lost
// worker's share is taken by the others, but for the one step it was allowed and did not deliver.
// Losing worker 0 loses the server and ends the run.

#pragma once

#include <memory>

#include "huddle/strategy/parameter_server.h"
#include "huddle/strategy/registry.h"

namespace huddle {

// The keys that both take: buckets.
std::vector<KeyInfo> served_keys();

// Sets budget and deadline of `server` itself.
std::unique_ptr<Strategy> make_served(const ServerOptions& server, const Options& options,
                                      const StrategyContext& context);

}  // namespace huddle
