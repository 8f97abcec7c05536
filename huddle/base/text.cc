#include "huddle/base/text.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// How many insertions, deletions, substitutions and swaps of neighbours turn one word into the
// other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({substituted, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string joined(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) text += concat(i == 0 ? "" : separator, items[i]);
  return text;
}

std::string joined(std::span<const int> counts, char separator) {
  std::string text;
  for (const int count : counts) {
    if (!text.empty()) text += separator;
    text += std::to_string(count);
  }
  return text;
}

std::vector<int> parse_counts(std::string_view what, std::string_view text, char separator) {
  std::vector<int> counts;
  const char* place = text.data();
  const char* const end = place + text.size();
  while (true) {
    const auto [after, error] = std::from_chars(place, end, counts.emplace_back());
    if (error != std::errc() || (after != end && *after != separator))
      throw UsageError(concat(what, " '", text, "' is not of the form 4", separator,
                              "4 (whole numbers with ", separator, " between)."));
    if (after == end) return counts;
    place = after + 1;
  }
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string system_message(int error) { return std::generic_category().message(error); }

std::string unknown_value(std::string_view what, std::string_view value,
                          std::span<const std::string> allowed) {
  if (allowed.empty())
    return concat("unknown ", what, " '", value, "'; there is none to choose from.");
  const std::string suggestion = nearest(value, allowed);
  return concat("unknown ", what, " '", value, "'",
                suggestion.empty() ? "." : concat("; did you mean '", suggestion, "'?"),
                " Known: ", joined(allowed), ".");
}

}  // namespace huddle
