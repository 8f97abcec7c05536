// How fast groups drawn at random bring workers together: the expected share of |x - mean|^2 that
// one step leaves.
//
// Every such step multiplies by a random projection W, and E|Wx - mean|^2 = x^T (E[W] - J) x.

#pragma once

namespace huddle {

// A uniformly random partition into `groups` groups of whatever sizes.
struct RandomPartition {
  int workers = 1;
  int groups = 1;
};

// (groups - 1) / (workers - 1), whatever the sizes; 0 for one worker. Throws UsageError unless
// 1 <= groups <= workers.
double contraction(const RandomPartition& partition);

// Stationary variance of x_i - mean for unit noise in every step, right after averaging:
// c (1 - 1/workers) / (1 - c) with c the contraction; infinite for groups of one.
double deviation_variance(const RandomPartition& partition);

}  // namespace huddle
