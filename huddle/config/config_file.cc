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

template <typename Kind>
const Kind* as(const ConfigEntry* entry) {
  return std::get_if<Kind>(&entry->value.value);
}

std::optional<double> as_number(const ConfigEntry* entry) {
  if (const auto* whole = as<std::int64_t>(entry)) return static_cast<double>(*whole);
  if (const auto* number = as<double>(entry)) return *number;
  return {};
}

std::optional<int> as_count(const ConfigValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (!whole || *whole < 0 || *whole > std::numeric_limits<int>::max()) return {};
  return static_cast<int>(*whole);
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

std::optional<std::string> ConfigSection::text(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto* text = as<std::string>(entry)) return *text;
  refuse_value(*entry, "a text in quotes");
  return "";
}

std::optional<std::string> ConfigSection::choice(const std::string& key,
                                                 std::initializer_list<const char*> of) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  const std::vector<std::string> allowed(of.begin(), of.end());
  const auto* text = as<std::string>(entry);
  if (text && std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  const std::string suggestion = text ? nearest(*text, allowed) : "";
  refuse_value(*entry, concat("one of \"", joined(allowed, "\", \""), "\"",
                              suggestion.empty() ? "" : concat("; perhaps \"", suggestion, "\"")));
  return allowed.front();
}

std::optional<bool> ConfigSection::flag(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto* flag = as<bool>(entry)) return *flag;
  refuse_value(*entry, "true or false");
  return false;
}

std::optional<double> ConfigSection::number(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  const std::optional<double> number = as_number(entry);
  if (number && *number >= 0 && std::isfinite(*number)) return number;
  refuse_value(*entry, "a number that is finite and not negative, for example 0.5");
  return 0.5;
}

std::optional<int> ConfigSection::count(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto count = as_count(entry->value)) return count;
  refuse_value(*entry, concat("a whole number between 0 and ", std::numeric_limits<int>::max()));
  return 0;
}

std::optional<Step> ConfigSection::step(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto* whole = as<std::int64_t>(entry); whole && *whole >= 0) return Step{*whole};
  refuse_value(*entry, "the whole number of a step, for example 0 for the first");
  return Step{0};
}

std::optional<std::pair<int, int>> ConfigSection::pair(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  const auto* list = as<std::vector<ConfigValue>>(entry);
  if (list && list->size() == 2)
    if (const auto first = as_count((*list)[0]), second = as_count((*list)[1]); first && second)
      return std::pair(*first, *second);
  refuse_value(*entry, "two whole numbers, for example [0, 1]");
  return std::pair(0, 1);
}

std::optional<double> ConfigSection::with_unit(const std::string& key, std::string_view example,
                                               double stand_in,
                                               double (*parse)(std::string_view,
                                                               std::string_view)) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto* text = as<std::string>(entry)) {
    try {
      return parse(concat("'", key, "' in ", title_), *text);
    } catch (const UsageError& error) {
      file_->report(entry->line, error.what());
      is_sound_ = false;
    }
  } else if (as_number(entry)) {
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
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (const auto* text = as<std::string>(entry)) return std::vector{*text};
  std::vector<std::string> texts;
  if (const auto* list = as<std::vector<ConfigValue>>(entry))
    for (const ConfigValue& item : *list)
      if (const auto* text = std::get_if<std::string>(&item.value)) texts.push_back(*text);
  const auto* list = as<std::vector<ConfigValue>>(entry);
  if (!list || list->size() != texts.size())
    refuse_value(*entry, "a text, or a list of texts, [\"one\", \"two\"]");
  return texts;
}

std::optional<std::vector<int>> ConfigSection::counts(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  std::vector<int> counts;
  const auto* list = as<std::vector<ConfigValue>>(entry);
  if (list)
    for (const ConfigValue& item : *list)
      if (const auto count = as_count(item)) counts.push_back(*count);
  if (!list || list->size() != counts.size())
    refuse_value(*entry, "a list of whole numbers, for example [1, 2, 3]");
  return counts;
}

std::optional<std::string> ConfigSection::word(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  if (auto word = as_word(entry->value)) return word;
  refuse_value(*entry, "a number, a text in quotes, or true or false");
  return "";
}

std::optional<std::vector<std::string>> ConfigSection::words(const std::string& key) {
  const ConfigEntry* entry = find(key);
  if (!entry) return {};
  std::vector<std::string> words;
  const auto* list = as<std::vector<ConfigValue>>(entry);
  if (list)
    for (const ConfigValue& item : *list)
      if (auto word = as_word(item)) words.push_back(std::move(*word));
  if (!list || list->size() != words.size())
    refuse_value(*entry, "a list of numbers or texts, for example [0.05, 0.1]");
  return words;
}

const ConfigTable* ConfigSection::table(const std::string& key) {
  const ConfigEntry* entry = find(key);
  const auto* table = entry ? as<ConfigTable>(entry) : nullptr;
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
  const ConfigTable* table = entry ? as<ConfigTable>(entry) : nullptr;
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
    const bool is_section = as<ConfigTable>(&entry) || as_tables(entry.value);
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
