#include "huddle/cli/number_option.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace huddle {
namespace {

using Kind = NumberOption::Kind;
using Ends = NumberOption::Ends;

// Nothing for what is no number of this kind. A whole number that begins with 0 is none: some read
// it as octal.
std::optional<double> parsed(Kind kind, const std::string& text) {
  const char* const end = text.data() + text.size();
  const auto whole_text = [&](auto number) -> std::optional<double> {
    const auto [after, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || after != end || text.empty()) return {};
    return static_cast<double>(number);
  };
  if (kind == Kind::real) return whole_text(0.0);
  if (text.size() > 1 && text.starts_with('0')) return {};
  return whole_text(std::int64_t{0});
}

// False for what is not a number, too.
bool is_within(const NumberOption& option, double number) {
  const bool is_enough =
      option.ends == Ends::least_excluded ? number > option.least : number >= option.least;
  const bool is_little =
      option.ends == Ends::most_excluded ? number < option.most : number <= option.most;
  return is_enough && is_little;
}

std::string range_of(const NumberOption& option) {
  const std::string least = fmt::format("{:.0f}", option.least);
  const std::string most = fmt::format("{:.0f}", option.most);
  switch (option.ends) {
    case Ends::least_excluded: return fmt::format("above {} and at most {}", least, most);
    case Ends::most_excluded: return fmt::format("at least {} and below {}", least, most);
    case Ends::included: break;
  }
  return fmt::format("from {} to {}", least, most);
}

}  // namespace

std::string mistake_in(const NumberOption& option, const std::string& text) {
  const std::optional<double> number = parsed(option.kind, text);
  if (number && is_within(option, *number)) return "";
  return fmt::format("'{}' is not a {}number {}; for example {} {}", text,
                     option.kind == Kind::whole ? "whole " : "", range_of(option), option.name,
                     option.example);
}

void add_ranges(CLI::App& command, std::span<const NumberOption> options) {
  for (const NumberOption& option : options)
    command.get_option(option.name)->check([option](const std::string& text) {
      return mistake_in(option, text);
    });
  for (CLI::Option* option : command.get_options())
    if (option->get_expected_max() == 0) option->disable_flag_override();
}

}  // namespace huddle
