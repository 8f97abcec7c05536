#include "huddle/report/figure_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "huddle/report/format.h"

namespace huddle {
namespace {

enum class Unit { count, seconds, figure };

struct Words {
  std::string_view name;
  Unit unit;
  std::string_view before;
  std::string_view after;
};

constexpr Words kWords[] = {
    {"p_reduce.aborted", Unit::count, "", " groups given up, because a member was lost"},
    {"p_reduce.bridges", Unit::count, "", " groups joined workers that had not met for long"},
    {"p_reduce.group_size", Unit::figure, "", " workers in a group, on the average"},
    {"p_reduce.groups", Unit::count, "", " groups formed"},
    {"p_reduce.held_s", Unit::seconds, "", " in all while groups were held back for such a one"},
    {"p_reduce.holds", Unit::count, "", " times ready workers were held back for such a group"},
    {"p_reduce.longest_apart", Unit::count, "at most ",
     " groups in a row left some workers unconnected"},
    {"p_reduce.rho", Unit::figure, "",
     " of a disagreement (squared) survives a group on the average"},
    {"p_reduce.rho_random", Unit::figure, "", " of it would survive groups drawn at random"},
    {"p_reduce.staleness", Unit::figure, "", " steps behind the newest member, on the average"},
    {"p_reduce.staleness_max", Unit::count, "", " steps behind the newest member at most"},
    {"schedule.mixing_factor", Unit::figure, "",
     " of a disagreement survives a period (0: all agree exactly)"},
    {"schedule.period", Unit::count, "", " steps, then the groups repeat"},
};

std::string number_text(Unit unit, double value) {
  switch (unit) {
    case Unit::count: return format_count(std::llround(value));
    case Unit::seconds: return format_seconds(value);
    case Unit::figure: break;
  }
  return value == 0 ? "0" : fmt::format("{:.3g}", value);
}

}  // namespace

std::string figure_words(std::string_view name, double value) {
  if (std::count(name.begin(), name.end(), '.') > 1) return "";
  const auto* const found = std::ranges::find(kWords, name, &Words::name);
  if (found == std::end(kWords))
    return fmt::format("{} {}", name.substr(name.find('.') + 1), number_text(Unit::figure, value));
  if (value == 0 && found->unit != Unit::figure) return "";
  return fmt::format("{}{}{}", found->before, number_text(found->unit, value), found->after);
}

}  // namespace huddle
