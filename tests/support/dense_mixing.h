// For tests: what a window of a schedule does to the workers' models, as dense matrices. The check
// on the analysis in huddle/schedule/mixing.h, in N^2 operations for each phase.

#pragma once

#include <cstdint>

#include "huddle/schedule/linear.h"
#include "huddle/schedule/schedule.h"

namespace huddle {

// Steps first, first+1, ... of a schedule.
struct Window {
  std::int64_t first = 0;
  std::int64_t length = 1;
};

inline Matrix window_product(const Schedule& schedule, const Window& window) {
  const int workers = schedule.members().size();
  Matrix product = Matrix::identity(workers);
  for (std::int64_t step = window.first; step < window.first + window.length; ++step)
    for (const Group& group : schedule.partition(Step{step}))
      for (int row = 0; row < workers; ++row) {
        double sum = 0;
        for (const WorkerId worker : group)
          sum += product(row, schedule.members().position_of(worker));
        for (const WorkerId worker : group)
          product(row, schedule.members().position_of(worker)) = sum / group.size();
      }
  return product;
}

// The spectral norm of the product minus J.
inline double window_norm(const Schedule& schedule, const Window& window) {
  Matrix product = window_product(schedule, window);
  for (int i = 0; i < product.rows(); ++i)
    for (int j = 0; j < product.columns(); ++j) product(i, j) -= 1.0 / product.rows();
  return spectral_norm(product);
}

}  // namespace huddle
