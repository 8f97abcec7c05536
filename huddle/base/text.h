// Small helpers for messages that people read.

#pragma once

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace huddle {

// The parts written one after another, as operator<< writes them.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// Whether a list has this value.
template <typename List, typename Value>
bool is_among(const List& list, const Value& value) {
  return std::ranges::find(list, value) != list.end();
}

// "a, b, c".
std::string joined(std::span<const std::string> items, std::string_view separator = ", ");

// {4, 4} as "4x4", and back. Throws UsageError on anything else; `what` names it in the message.
std::string joined(std::span<const int> counts, char separator);
std::vector<int> parse_counts(std::string_view what, std::string_view text, char separator);

// The candidate nearest to `word` by edit distance, or "" when none is close enough to be a likely
// typo.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// What the system says of an error number, as errno has it.
std::string system_message(int error);

// How an unknown value is refused everywhere: names the value, the nearest match and all allowed
// ones. `what` is a noun in the singular ("strategy").
std::string unknown_value(std::string_view what, std::string_view value,
                          std::span<const std::string> allowed);

}  // namespace huddle
