// What strategies count (Summary::figures, "p_reduce.bridges"), in words for people.

#pragma once

#include <string>
#include <string_view>

namespace huddle {

// "966 groups were formed". Empty where the figure says nothing: what never happened, and parts of
// another figure (of one size, one worker), whose names have two dots. A figure that is not known
// here is told by its own name.
std::string figure_words(std::string_view name, double value);

}  // namespace huddle
