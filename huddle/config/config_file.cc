#include "huddle/config/config_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/base/units.h"

namespace huddle {
namespace {

// What a value is, where it is of that kind.

template <typename Kind>
std::optional<Kind> as(const ConfigValue& value) {
  const Kind* const kind = std::get_if<Kind>(&value.value);
  return kind ? std::optional(*kind) : std::nullopt;
}

std::optional<double> as_number(const ConfigValue& value) {
  if (const auto whole = as<std::int64_t>(value)) return static_cast<double>(*whole);
  return as<double>(value);
}

std::optional<double> as_amount(const ConfigValue& value) {
  const auto number = as_number(value);
  return number && *number >= 0 && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<Step> as_step(const ConfigValue& value) {
  const auto whole = as<std::int64_t>(value);
  return whole && *whole >= 0 ? std::optional(Step{*whole}) : std::nullopt;
}

std::optional<int> as_count(const ConfigValue& value) {
  const auto step = as_step(value);
  if (!step || step->value > std::numeric_limits<int>::max()) return {};
  return static_cast<int>(step->value);
}

template <typename Kind, std::optional<Kind> (*convert)(const ConfigValue&)>
std::optional<std::vector<Kind>> as_list(const ConfigValue& value) {
  const auto* list = std::get_if<std::vector<ConfigValue>>(&value.value);
  if (!list) return {};
  std::vector<Kind> items;
  for (const ConfigValue& item : *list) {
    auto converted = convert(item);
    if (!converted) return {};
    items.push_back(std::move(*converted));
  }
  return items;
}

std::optional<std::vector<std::string>> as_texts(const ConfigValue& value) {
  if (auto text = as<std::string>(value)) return std::vector{std::move(*text)};
  return as_list<std::string, as<std::string>>(value);
}

std::optional<std::pair<int, int>> as_pair(const ConfigValue& value) {
  const auto counts = as_list<int, as_count>(value);
  if (!counts || counts->size() != 2) return {};
  return std::pair(counts->front(), counts->back());
}

const ConfigTable* as_table(const ConfigEntry* entry) {
  return entry ? std::get_if<ConfigTable>(&entry->value.value) : nullptr;
}

std::string unknown(std::string_view what, std::string_view place, const std::string& word,
                    const std::vector<std::string>& known) {
  const std::string suggestion = nearest(word, known);
  return concat("unknown ", what, " '", word, "'", place, "; ",
                known.empty()        ? "there is none to choose from."
                : suggestion.empty() ? concat("known: ", joined(known), ".")
                                     : concat("did you mean '", suggestion, "'?"));
}

}  // namespace

ConfigSection::ConfigSection(ConfigFile& file, std::string title, int line,
                             const ConfigTable* table)
    : file_(&file), title_(std::move(title)), line_(line), table_(table) {}

const ConfigEntry* ConfigSection::find(const std::string& key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
  return table_ ? find_entry(*table_, key) : nullptr;
}

void ConfigSection::refuse(std::string_view message) {
  file_->report(line_, concat(title_, " ", message));
  is_sound_ = false;
}

void ConfigSection::refuse_key(const std::string& key, std::string_view message) {
  file_->report(line_of(key), concat("'", key, "' in ", title_, " ", message));
  is_sound_ = false;
}

void ConfigSection::refuse_value(const ConfigEntry& entry, std::string_view rule) {
  refuse_key(entry.key, concat("is ", shown(entry.value), "; write ", rule, "."));
}

int ConfigSection::line_of(const std::string& key) {
  const ConfigEntry* entry = find(key);
  return entry ? entry->line : line_;
}

void ConfigSection::needs(std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (table_ && !has(key)) refuse(concat("has no '", key, "', which it needs."));
}

template <typename Kind>
std::optional<Kind> ConfigSection::value(const std::string& key, std::string_view rule,
                                         Kind stand_in,
                                         std::optional<Kind> (*convert)(const ConfigValue&)) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (auto value = convert(entry->value)) return value;
  refuse_value(*entry, rule);
  return stand_in;
}

std::optional<std::string> ConfigSection::text(const std::string& key) {
  return value<std::string>(key, "a text in quotes", "", as<std::string>);
}

std::optional<std::string> ConfigSection::choice(const std::string& key,
                                                 std::initializer_list<const char*> of) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  const std::vector<std::string> allowed(of.begin(), of.end());
  const auto text = as<std::string>(entry->value);
  if (text && std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  const std::string suggestion = text ? nearest(*text, allowed) : "";
  refuse_value(*entry, concat("one of \"", joined(allowed, "\", \""), "\"",
                              suggestion.empty() ? "" : concat("; perhaps \"", suggestion, "\"")));
  return allowed.front();
}

std::optional<bool> ConfigSection::flag(const std::string& key) {
  return value(key, "true or false", false, as<bool>);
}

std::optional<double> ConfigSection::number(const std::string& key) {
  return value(key, "a number that is finite and not negative, for example 0.5", 0.5, as_amount);
}

std::optional<int> ConfigSection::count(const std::string& key) {
  return value(key, concat("a whole number between 0 and ", std::numeric_limits<int>::max()), 0,
               as_count);
}

std::optional<Step> ConfigSection::step(const std::string& key) {
  return value(key, "the whole number of a step, for example 0 for the first", Step{0}, as_step);
}

std::optional<std::pair<int, int>> ConfigSection::pair(const std::string& key) {
  return value(key, "two whole numbers, for example [0, 1]", std::pair(0, 1), as_pair);
}

std::optional<double> ConfigSection::with_unit(const std::string& key, std::string_view example,
                                               double stand_in,
                                               double (*parse)(std::string_view,
                                                               std::string_view)) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto text = as<std::string>(entry->value)) {
    try {
      return parse(concat("'", key, "' in ", title_), *text);
    } catch (const UsageError& error) {
      file_->report(entry->line, error.what());
      is_sound_ = false;
    }
  } else if (as_number(entry->value)) {
    refuse_key(key, concat("is ", shown(entry->value), " without a unit; write for example \"",
                           example, "\"."));
  } else {
    refuse_value(*entry, concat("a number with a unit, for example \"", example, "\""));
  }
  return stand_in;
}

std::optional<Seconds> ConfigSection::seconds(const std::string& key) {
  return with_unit(key, "0.1ms", 1, parse_seconds);
}

// Stands in as wide, so that no traffic is too much for a bandwidth that was misspelt.
std::optional<double> ConfigSection::bandwidth(const std::string& key) {
  return with_unit(key, "10Gbps", std::numeric_limits<double>::max(), parse_bandwidth);
}

std::optional<double> ConfigSection::bytes(const std::string& key) {
  return with_unit(key, "102.4MB", 1e6, parse_bytes);
}

std::optional<std::vector<std::string>> ConfigSection::texts(const std::string& key) {
  return value<std::vector<std::string>>(key, "a text, or a list of texts, [\"one\", \"two\"]", {},
                                         as_texts);
}

std::optional<std::vector<int>> ConfigSection::counts(const std::string& key) {
  return value<std::vector<int>>(key, "a list of whole numbers, for example [1, 2, 3]", {},
                                 as_list<int, as_count>);
}

std::optional<std::string> ConfigSection::word(const std::string& key) {
  return value<std::string>(key, "a number, a text in quotes, or true or false", "", as_word);
}

std::optional<std::vector<std::string>> ConfigSection::words(const std::string& key) {
  return value<std::vector<std::string>>(key, "a list of numbers or texts, for example [0.05, 0.1]",
                                         {}, as_list<std::string, as_word>);
}

const ConfigTable* ConfigSection::table(const std::string& key) {
  const ConfigEntry* entry = find(key);
  const ConfigTable* table = as_table(entry);
  if (entry && !table) refuse_value(*entry, concat(key, " = { key = value }"));
  return table;
}

ConfigTable ConfigSection::everything() {
  if (!table_) return {};
  for (const ConfigEntry& entry : *table_) asked_.push_back(entry.key);
  return *table_;
}

void ConfigSection::inner(const std::string& key, const Read& read) {
  const ConfigTable* inside = table(key);
  if (!inside) return;
  ConfigSection section(*file_, concat(title_, " ", key), line_of(key), inside);
  read(section);
  section.report_unknown();
}

void ConfigSection::report_unknown() {
  if (!table_) return;
  for (const ConfigEntry& entry : *table_)
    if (std::find(asked_.begin(), asked_.end(), entry.key) == asked_.end())
      file_->report(entry.line, unknown("key", concat(" in ", title_), entry.key, asked_));
}

ConfigFile::ConfigFile(const std::filesystem::path& path)
    : name_(path.string()),
      table_(parse_toml(read_file(path, kMostTextBytes), name_)),
      top_(*this, "the top level", 0, &table_) {}

ConfigFile::ConfigFile(ConfigTable table, const std::string& section)
    : prefix_(section + "."),
      table_(std::move(table)),
      top_(*this, concat("[", section, "]"), 0, &table_) {}

const ConfigEntry* ConfigFile::find(const std::string& name) {
  sections_.push_back(name);
  return find_entry(table_, name);
}

void ConfigFile::one(const std::string& name, const Read& read) {
  const ConfigEntry* entry = find(name);
  const ConfigTable* table = as_table(entry);
  if (entry && !table)
    report(entry->line, concat("'", prefix_, name, "' is ", shown(entry->value),
                               "; write it as a section, [", prefix_, name, "]."));
  ConfigSection section(*this, concat("[", prefix_, name, "]"), entry ? entry->line : 0, table);
  read(section);
  section.report_unknown();
}

void ConfigFile::each(const std::string& name, const Read& read) {
  const ConfigEntry* entry = find(name);
  if (!entry) return;
  const std::vector<ConfigValue>* list = as_tables(entry->value);
  if (!list) {
    report(entry->line,
           concat("'", prefix_, name, "' is ", shown(entry->value),
                  "; there may be several, so write each as [[", prefix_, name, "]]."));
    return;
  }
  for (const ConfigValue& value : *list) {
    ConfigSection section(*this, concat("[[", prefix_, name, "]]"), value.line,
                          &std::get<ConfigTable>(value.value));
    read(section);
    section.report_unknown();
  }
}

void ConfigFile::report(int line, std::string_view message) {
  const bool is_known =
      std::any_of(problems_.begin(), problems_.end(), [&](const ConfigProblem& problem) {
        return problem.line == line && problem.message == message;
      });
  if (!is_known) problems_.push_back({line, std::string(message)});
}

void ConfigFile::report_unknown() {
  for (const ConfigEntry& entry : table_) {
    const auto is_asked = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), entry.key) != names.end();
    };
    if (is_asked(sections_) || is_asked(top_.asked_)) continue;
    const bool is_section = as_table(&entry) || as_tables(entry.value);
    report(entry.line, is_section ? unknown("section", "", entry.key, sections_)
                                  : unknown("key", " in the top level", entry.key, top_.asked_));
  }
}

std::vector<ConfigProblem> ConfigFile::take_problems() {
  report_unknown();
  std::stable_sort(
      problems_.begin(), problems_.end(),
      [](const ConfigProblem& one, const ConfigProblem& other) { return one.line < other.line; });
  return std::move(problems_);
}

void ConfigFile::finish() {
  std::vector<std::string> messages;
  for (const ConfigProblem& problem : take_problems())
    messages.push_back(problem.line > 0 ? concat(name_, ":", problem.line, ": ", problem.message)
                                        : concat(name_, ": ", problem.message));
  if (!messages.empty()) throw UsageError(joined(messages, "\n"));
}

}  // namespace huddle
