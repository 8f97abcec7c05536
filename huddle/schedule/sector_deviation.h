// The variances of deviation.h where phases are single directions (sectors.h).
//
// In a sector a model is a number x along the direction a of the last phase; o = a . (the direction
// before). With momentum averaged, so is a buffer v, and a step with noise g is
//
//   v <- o beta v + g        x <- o (x - beta v) - g
//
// With local momentum the buffer stays a vector, of variance 1/(1 - beta^2) in each coordinate, and
// its covariance c with x is one: x <- o x - a . v,  c <- o beta c - a/(1 - beta^2).
//
// A global average sets x and what it has in common with v to 0, so what lies between two of them
// is a finite sum. Without global averages everything but the variance of x forgets its beginning
// at least as fast as beta^t; then one turn shows by which affine map the variance goes from turn
// to turn, and its fixed point is the answer.

#pragma once

#include <vector>

#include "huddle/schedule/deviation.h"
#include "huddle/schedule/schedule.h"
#include "huddle/schedule/sectors.h"

namespace huddle {

// Cost: a few operations for each sector, phase of a turn and step between two global averages.
// REQUIRES: the sectors are the schedule's; it mixes.
DeviationVariance sector_deviation(const std::vector<Sector>& sectors, const Schedule& schedule,
                                   double beta);

}  // namespace huddle
