#include "huddle/train/problem.h"

#include "huddle/core/error.h"
#include "huddle/core/spec.h"
#include "huddle/train/images.h"
#include "huddle/train/quadratic.h"

namespace huddle {

std::unique_ptr<Problem> load_problem(const ProblemOptions& options) {
  if (options.workers < 1) throw UsageError("the number of workers must be at least 1.");
  if (options.batch < 1) throw UsageError("the batch must be at least 1.");
  if (parse_spec(options.data).name == "quadratic") return make_quadratic(options);
  return load_images(options);
}

}  // namespace huddle
