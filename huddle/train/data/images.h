// Classifying images: the problem behind `digits`, `mnist` and `fashion_mnist`.

#pragma once

#include <memory>

#include "huddle/train/models/problem.h"

namespace huddle {

std::unique_ptr<Problem> load_images(const ProblemOptions& options);

}  // namespace huddle
