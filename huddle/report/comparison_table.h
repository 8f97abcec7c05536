// A comparison on the terminal: a table for each case, and below it what a number alone would not
// say.

#pragma once

#include <string>

#include "huddle/report/comparison_files.h"

namespace huddle {

// Columns that no row has anything for are left out.
std::string comparison_text(const Comparison& comparison);

}  // namespace huddle
