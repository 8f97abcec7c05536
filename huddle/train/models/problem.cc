#include "huddle/train/models/problem.h"

#include <torch/nn/module.h>

#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/train/data/images.h"
#include "huddle/train/flat_module.h"
#include "huddle/train/models/quadratic.h"

namespace huddle {

double parameter_bytes(const Problem& problem) {
  return parameter_bytes(problem.workload(WorkerId{0})->module());
}

std::unique_ptr<Problem> load_problem(const ProblemOptions& options) {
  if (options.workers < 1) throw UsageError("the number of workers must be at least 1.");
  if (options.batch < 1) throw UsageError("the batch must be at least 1.");
  if (parse_spec(options.data).name == "quadratic") return make_quadratic(options);
  return load_images(options);
}

}  // namespace huddle
