#include <toml++/toml.h>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/config/config_file.h"

namespace huddle {
namespace {

int line_of(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

ConfigTable copied(const toml::table& table);

ConfigValue copied(const toml::node& node) {
  ConfigValue copy{.line = line_of(node.source()), .value = {}};
  if (const auto* flag = node.as_boolean()) {
    copy.value = flag->get();
  } else if (const auto* whole = node.as_integer()) {
    copy.value = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    copy.value = number->get();
  } else if (const auto* text = node.as_string()) {
    copy.value = text->get();
  } else if (const auto* array = node.as_array()) {
    std::vector<ConfigValue> items;
    for (const toml::node& item : *array) items.push_back(copied(item));
    copy.value = std::move(items);
  } else if (const auto* table = node.as_table()) {
    copy.value = copied(*table);
  }
  return copy;
}

ConfigTable copied(const toml::table& table) {
  ConfigTable copy;
  for (const auto& [key, node] : table)
    copy.push_back({std::string(key.str()), line_of(key.source()), copied(node)});
  return copy;
}

}  // namespace

ConfigTable parse_toml(const std::string& text, const std::string& name) {
  try {
    return copied(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    throw UsageError(
        concat(name, ":", line_of(error.source()), ": this is no TOML. ", error.description()));
  }
}

}  // namespace huddle
