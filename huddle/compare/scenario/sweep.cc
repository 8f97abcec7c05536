#include "huddle/compare/scenario/sweep.h"

#include <algorithm>

#include "huddle/base/text.h"

namespace huddle {
namespace {

bool is_list_of_words(const ConfigValue& value) {
  const auto* list = std::get_if<std::vector<ConfigValue>>(&value.value);
  return list && !list->empty() && std::all_of(list->begin(), list->end(), as_word);
}

// Tables inside are paths: cluster.network.latency = [...] is a table in a table.
void collect(ConfigSection& section, const ConfigTable& table, const std::string& before,
             Sweep& sweep) {
  for (const ConfigEntry& entry : table) {
    const std::string path = before + entry.key;
    if (const auto* inner = std::get_if<ConfigTable>(&entry.value.value))
      collect(section, *inner, path + ".", sweep);
    else if (is_list_of_words(entry.value))
      sweep.push_back({path, std::get<std::vector<ConfigValue>>(entry.value.value)});
    else
      section.refuse_key("sweep", concat("gives '", path, "' as ", shown(entry.value),
                                         "; write a list of one or more values, [1, 2, 8]."));
  }
}

// "latency" of cluster.network.latency.
std::string last_word(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

Sweep read_sweep(ConfigSection& section, std::initializer_list<const char*> prefixes) {
  Sweep sweep;
  if (const ConfigTable* table = section.table("sweep")) collect(section, *table, "", sweep);
  const std::vector<std::string> known(prefixes.begin(), prefixes.end());
  for (const SweptKey& key : sweep)
    if (std::none_of(known.begin(), known.end(),
                     [&](const std::string& prefix) { return key.path.starts_with(prefix); }))
      section.refuse_key("sweep",
                         concat("has the key '", key.path, "'; it must begin with ",
                                joined(known, " or "), ", for example cluster.network.latency."));
  return section.is_sound() ? sweep : Sweep{};
}

void check_places(ConfigSection& section, const char* key, const std::string& text,
                  const Sweep& sweep) {
  std::vector<std::string> known;
  for (const SweptKey& swept : sweep) known.push_back(last_word(swept.path));
  for (std::size_t open = text.find('{'); open != std::string::npos && !known.empty();
       open = text.find('{', open + 1)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return;
    const std::string place = text.substr(open + 1, close - open - 1);
    if (!is_among(known, place))
      section.refuse_key(key,
                         concat("has braces around an ", unknown_value("swept key", place, known)));
  }
}

std::vector<SweepPoint> points_of(const Sweep& sweep) {
  std::vector<SweepPoint> points(1);
  for (const SweptKey& key : sweep) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points)
      for (const ConfigValue& value : key.values) {
        longer.push_back(point);
        longer.back().emplace_back(key.path, value);
      }
    points = std::move(longer);
  }
  return points;
}

std::string with_values(std::string text, const SweepPoint& point, Unnamed unnamed) {
  for (const auto& [path, value] : point) {
    const std::string key = last_word(path);
    const std::string place = concat("{", key, "}");
    const std::string word = as_word(value).value_or("");
    if (const std::size_t at = text.find(place); at != std::string::npos)
      text.replace(at, place.size(), word);
    else if (unnamed == Unnamed::appended)
      text += concat(", ", key, "=", word);
  }
  return text;
}

}  // namespace huddle
