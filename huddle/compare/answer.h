// The answer of a comparison in words: who wins in each case, by how much, and why, made from its
// figures alone. Made here once, so that the terminal, results.json and the page say the same.
//
// A case is judged by the time to the target where there is one, else by the time of a step.
// Factors are over the yardsticks of the comparison; the first of them is what a winner must beat.

#pragma once

#include <string>
#include <vector>

#include "huddle/compare/comparison_files.h"

namespace huddle {

struct CaseAnswer {
  std::string case_name;
  std::string winner;  // Its label; empty where nobody beats the first yardstick clearly.
  std::string result;  // "overlap_local_sgd:tau=2, 1.78x", or why there is no winner.
  std::string why;     // One or two sentences; empty where no figure says anything.
};

struct ComparisonAnswer {
  // "Equal machines: sesgd, 1.45x.", "One slow machine: p_reduce, 1.63x.": a sentence for each
  // case, or for each winner where there are many cases.
  std::vector<std::string> headline;
  std::string measure;  // "Factors: time to 97.0 % consensus accuracy, over bsp."
  std::vector<CaseAnswer> cases;
};

// Cases of which no run is known are left out.
ComparisonAnswer answer_of(const Comparison& comparison);

}  // namespace huddle
