// A comparison on the terminal: a table for each case, and below it what a number alone would not
// say; last the answer.

#pragma once

#include <string>

#include "huddle/compare/comparison_files.h"

namespace huddle {

// All columns, or as many as 100 characters in a line allow.
enum class Columns { that_fit, all };

// Columns that no row has anything for are left out.
std::string comparison_text(const Comparison& comparison, Columns columns = Columns::that_fit);

}  // namespace huddle
