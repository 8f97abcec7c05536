// The contents of a configuration file as values: tables of keys, each with its line. The syntax is
// TOML; config_file.h reads tables key by key, scenario files lay one over another.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace huddle {

struct ConfigEntry;
using ConfigTable = std::vector<ConfigEntry>;

struct ConfigValue {
  int line = 0;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<ConfigValue>,
               ConfigTable>
      value;  // Nothing: a kind that no configuration uses (dates and times).
};

struct ConfigEntry {
  std::string key;
  int line = 0;
  ConfigValue value;
};

// Throws UsageError, "NAME:LINE: ...", where the text is no TOML, and where this build has no
// parser for it.
ConfigTable parse_toml(const std::string& text, const std::string& name);

// The table as text that parse_toml reads back, equal tables as equal text. Dates and times are
// left out.
std::string to_toml(const ConfigTable& table);

// Null where there is no such key.
const ConfigEntry* find_entry(const ConfigTable& table, const std::string& key);

// The tables of a list that holds nothing else, as [[name]] makes it; null for anything else.
const std::vector<ConfigValue>* as_tables(const ConfigValue& value);

// A flag, number or text as one would type it: "true", "0.03", "digits". Nothing for what has
// parts.
std::optional<std::string> as_word(const ConfigValue& value);

// A value as messages show it.
std::string shown(const ConfigValue& value);

// `over` laid over `base`: tables are joined key by key, everything else is replaced, lists too.
ConfigTable overlaid(ConfigTable base, const ConfigTable& over);

// Puts `value` at a path such as "network.latency", making tables on the way.
void set_at(ConfigTable& table, const std::string& path, const ConfigValue& value);

// The table with every line replaced: it now speaks for something that stands there.
ConfigTable at_line(ConfigTable table, int line);

}  // namespace huddle
