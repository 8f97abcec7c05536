// A problem with a closed form: worker i minimises f_i(x) = 0.5 (x - c_i)' diag(A_i) (x - c_i),
// with optional gradient noise.
//
// No data, no classes; the best x is known, so what a strategy does to convergence can be seen
// without anything else in the way.

#pragma once

#include <memory>

#include "huddle/train/models/problem.h"

namespace huddle {

// `options.data`: quadratic:dimension=100,noise=0.1,spread=1. `spread`: how far apart the workers'
// optima c_i are.
std::unique_ptr<Problem> make_quadratic(const ProblemOptions& options);

}  // namespace huddle
