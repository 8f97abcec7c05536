// P-Reduce: average with whoever is ready.
//
//   x_i <- x_i - lr * u_i;  k_i <- k_i + 1      a local optimizer step, momentum stays local
//   report ready to the controller, wait for a group S of the first P that are
//   x_i <- sum over j in S of w_j x_j;  k_i <- max over S of k_j
//
// Nobody waits for the slowest worker, only for P-1 others. The run ends when all workers together
// have taken their steps, whoever took them. Paper: SIGMOD 2021, DOI 10.1145/3448016.3452773; what
// is published and what is ours: docs/strategies/p_reduce.md.
//
// With `hide=step` a worker reports and goes on computing; what its group agrees on meanwhile is
// added after its next step (late_average.h). Ours; no paper has it:
//
//   x_i <- local optimizer step;  x_i <- x_i + (m - s_i) of its previous group, waiting for it if
//   need be;  s_i <- x_i, report ready, go on
//
// With `balance=on` the rate lr of a worker is scaled by a factor that the controller tells it with
// its group (shares.h), so that those who take fewer steps are heard alike. Ours.
//
// Cost per step: one average in a group of P, and two control messages in sequence; hidden, where
// computing takes longer.
//
// Loss: a member that loses a peer in the middle of an average keeps its own model and asks for
// another group; only the loss of the controller's home ends the run.

#pragma once

#include <memory>

#include "huddle/strategy/entry.h"
#include "huddle/strategy/p_reduce/controller.h"

namespace huddle {

struct PReduceOptions {
  ControllerOptions controller;
  Algorithm algorithm = Algorithm::automatic;
  WireFormat wire = WireFormat::full;
};

std::unique_ptr<Strategy> make_p_reduce(const PReduceOptions& options,
                                        const StrategyContext& context);

// With `hide=step`. REQUIRES: constant weights; with others the corrections of a group do not add
// up to zero.
std::unique_ptr<Strategy> make_hidden_p_reduce(const PReduceOptions& options,
                                               const StrategyContext& context);

StrategyEntry p_reduce_entry();

}  // namespace huddle
