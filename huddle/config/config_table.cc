#include "huddle/config/config_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "huddle/base/text.h"

namespace huddle {
namespace {

// Text in quotes, with everything escaped that may not stand between them.
std::string quoted(const std::string& text) {
  std::string escaped = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\')
      escaped += {'\\', byte};
    else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f)
      escaped += fmt::format("\\u{:04x}", static_cast<int>(byte));
    else
      escaped += byte;
  }
  return escaped + '"';
}

std::string key_text(const std::string& key) {
  const bool is_plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char byte) {
    return byte < 0x80 && (std::isalnum(byte) || byte == '_' || byte == '-');
  });
  return is_plain ? key : quoted(key);
}

std::string inline_text(const ConfigValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return quoted(*text);
  if (const auto word = as_word(value)) return *word;
  std::vector<std::string> parts;
  if (const auto* list = std::get_if<std::vector<ConfigValue>>(&value.value)) {
    for (const ConfigValue& item : *list) parts.push_back(inline_text(item));
    return concat("[", joined(parts), "]");
  }
  for (const ConfigEntry& entry : std::get<ConfigTable>(value.value))
    parts.push_back(concat(key_text(entry.key), " = ", inline_text(entry.value)));
  return concat("{", joined(parts), "}");
}

bool is_table(const ConfigEntry& entry) {
  return std::holds_alternative<ConfigTable>(entry.value.value);
}

bool is_list_of_tables(const ConfigEntry& entry) {
  const auto* tables = as_tables(entry.value);
  return tables && !tables->empty();
}

// Keys of the table itself come first: below a section's head they would belong to the section.
void write_table(const ConfigTable& table, const std::string& path, std::string& text) {
  for (const ConfigEntry& entry : table)
    if (!is_table(entry) && !is_list_of_tables(entry) && entry.value.value.index() != 0)
      text += concat(key_text(entry.key), " = ", inline_text(entry.value), "\n");
  for (const ConfigEntry& entry : table) {
    const std::string name = path + key_text(entry.key);
    if (is_table(entry)) {
      text += concat("\n[", name, "]\n");
      write_table(std::get<ConfigTable>(entry.value.value), name + ".", text);
    } else if (is_list_of_tables(entry)) {
      for (const ConfigValue& item : *as_tables(entry.value)) {
        text += concat("\n[[", name, "]]\n");
        write_table(std::get<ConfigTable>(item.value), name + ".", text);
      }
    }
  }
}

ConfigEntry& entry_at(ConfigTable& table, const std::string& key, int line) {
  for (ConfigEntry& entry : table)
    if (entry.key == key) return entry;
  return table.emplace_back(ConfigEntry{key, line, {.line = line, .value = {}}});
}

ConfigValue at_line(ConfigValue value, int line) {
  value.line = line;
  if (auto* table = std::get_if<ConfigTable>(&value.value))
    *table = huddle::at_line(std::move(*table), line);
  if (auto* list = std::get_if<std::vector<ConfigValue>>(&value.value))
    for (ConfigValue& item : *list) item = at_line(std::move(item), line);
  return value;
}

}  // namespace

std::string to_toml(const ConfigTable& table) {
  std::string text;
  write_table(table, "", text);
  return text;
}

const ConfigEntry* find_entry(const ConfigTable& table, const std::string& key) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const ConfigEntry& entry) { return entry.key == key; });
  return found == table.end() ? nullptr : &*found;
}

const std::vector<ConfigValue>* as_tables(const ConfigValue& value) {
  const auto* list = std::get_if<std::vector<ConfigValue>>(&value.value);
  const bool fits = list && std::all_of(list->begin(), list->end(), [](const ConfigValue& item) {
                      return std::holds_alternative<ConfigTable>(item.value);
                    });
  return fits ? list : nullptr;
}

std::optional<std::string> as_word(const ConfigValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  return {};
}

std::string shown(const ConfigValue& value) {
  if (std::holds_alternative<std::string>(value.value)) return concat('"', *as_word(value), '"');
  if (const auto word = as_word(value)) return *word;
  if (std::holds_alternative<std::vector<ConfigValue>>(value.value)) return "a list";
  return std::holds_alternative<ConfigTable>(value.value) ? "a section" : "a date or time";
}

ConfigTable overlaid(ConfigTable base, const ConfigTable& over) {
  for (const ConfigEntry& entry : over) {
    ConfigEntry& place = entry_at(base, entry.key, entry.line);
    const auto* upper = std::get_if<ConfigTable>(&entry.value.value);
    auto* lower = std::get_if<ConfigTable>(&place.value.value);
    if (upper && lower) {
      *lower = overlaid(std::move(*lower), *upper);
    } else {
      place = entry;
    }
  }
  return base;
}

void set_at(ConfigTable& table, const std::string& path, const ConfigValue& value) {
  const std::size_t dot = path.find('.');
  ConfigEntry& place = entry_at(table, path.substr(0, dot), value.line);
  if (dot == std::string::npos) {
    place.value = value;
    return;
  }
  if (!std::holds_alternative<ConfigTable>(place.value.value)) place.value.value = ConfigTable{};
  set_at(std::get<ConfigTable>(place.value.value), path.substr(dot + 1), value);
}

ConfigTable at_line(ConfigTable table, int line) {
  for (ConfigEntry& entry : table) {
    entry.line = line;
    entry.value = at_line(std::move(entry.value), line);
  }
  return table;
}

}  // namespace huddle
