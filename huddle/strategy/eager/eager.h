// Eager-SGD (arXiv 1908.04207): everybody's gradients are averaged, but a round does not wait for
// those who are late; what they bring counts in the next one.
//
//   round r begins when somebody says so: each worker contributes the sum s_i of the gradients that
//   it has finished since its last contribution, 0 if there is none
//   m_r = (1/N) * sum_i s_i;      x <- x - lr * update(m_r), on every worker, in the order of
//   rounds
//
// solo: whoever is first begins the round; majority: one worker, drawn for each round from a seed
// that all share, begins it when it is ready, so that half of the others are ready before it in
// expectation. Stale gradients are added to the next contribution; 1/N whoever contributed. What of
// this is published, what reconstructed: docs/strategies/eager.md.
//
// (1) A program beside each worker takes part in the averages. (2) A worker that was late
// finds one or more finished rounds: it applies all of them, in order, and goes on computing
// without waiting; one that finds none waits for the round to come. A round is applied with the
// learning rate of whoever began it. So replicas that have seen equally many rounds are equal to
// the last bit. (As we recall it, the authors keep but the newest result, and synchronise models
// from time to time.) (3) With each round travels a second, small sum: how many gradients it holds,
// with which rate it was begun and who is about to leave. By it all stop after the same round, the
// first at which the gradients of all rounds are as many as all workers together were to take; what
// is left in the workers' sums goes into one more round. A round without any gradient is no update.
//
// Cost per round: an average of M bytes among all workers and a sum of 2 N + 1 numbers; one control
// message to everybody from whoever begins it. Nothing overlaps with backward: a round begins with
// complete gradients. Optimizer state is equal everywhere, since all apply the same rounds;
// BatchNorm statistics stay local. The collective needs everybody: a lost worker ends the run.

#pragma once

#include <memory>

#include "huddle/strategy/eager/partial_rounds.h"
#include "huddle/strategy/entry.h"

namespace huddle {

std::unique_ptr<Strategy> make_eager(const PartialRounds::How& how, const StrategyContext& context);

StrategyEntry eager_entry();

}  // namespace huddle
