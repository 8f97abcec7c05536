// What a worker failed of, as text that another process makes the same kind of exception of.

#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace huddle {

// Kinds of huddle/base/error.h stay what they are; all others become an Error with their words.
std::string text_of(const std::exception_ptr& error);
std::exception_ptr failure_of(std::string_view text);

}  // namespace huddle
