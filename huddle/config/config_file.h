// A configuration file, read key by key, with a list of everything that is wrong with it.
//
// The reader of a file asks for the sections and keys that it knows. A key that nobody asked for is
// unknown, a value of the wrong kind is reported and replaced by a harmless one, and reading goes
// on, so that one run names all mistakes, each with its line.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/config/config_table.h"

namespace huddle {

// Something that is wrong, and where; line 0: the file as a whole.
struct ConfigProblem {
  int line = 0;
  std::string message;
};

class ConfigFile;

// One table of a file while it is being read. Each key may be asked for in one way. The result is
// empty where the key is missing; a wrong value is reported, and something harmless stands in.
class ConfigSection {
 public:
  using Read = std::function<void(ConfigSection&)>;

  // `title` names it in messages, "[network]"; line 0 and no table: the file does not have it.
  ConfigSection(ConfigFile& file, std::string title, int line, const ConfigTable* table);

  std::optional<std::string> text(const std::string& key);
  std::optional<std::string> choice(const std::string& key, std::initializer_list<const char*> of);
  std::optional<bool> flag(const std::string& key);
  std::optional<double> number(const std::string& key);  // Finite, not negative.
  std::optional<int> count(const std::string& key);      // Whole, not negative.
  std::optional<Step> step(const std::string& key);
  std::optional<std::pair<int, int>> pair(const std::string& key);  // Two counts, "[0, 1]".
  std::optional<Seconds> seconds(const std::string& key);
  std::optional<double> bandwidth(const std::string& key);  // In bytes per second.
  std::optional<double> bytes(const std::string& key);

  std::optional<std::vector<std::string>> texts(const std::string& key);  // One, or a list.
  std::optional<std::vector<int>> counts(const std::string& key);         // A list.
  std::optional<std::string> word(const std::string& key);  // A flag, number or text, as typed.
  std::optional<std::vector<std::string>> words(const std::string& key);  // A list of them.
  const ConfigTable* table(const std::string& key);  // Null where it is missing.

  // All keys, whatever they are; none of them is unknown then.
  ConfigTable everything();

  // The table `key` of this one, read like a section; not called where it is missing.
  void inner(const std::string& key, const Read& read);

  bool has(const std::string& key) { return find(key) != nullptr; }

  // Reports those that are missing.
  void needs(std::initializer_list<const char*> keys);

  // Reports the section as a whole.
  void refuse(std::string_view message);

  // Reports `key`; the message goes on after its name: "'nic' in [network] ...".
  void refuse_key(const std::string& key, std::string_view message);

  // False once something has been reported.
  bool is_sound() const { return is_sound_; }
  int line() const { return line_; }
  int line_of(const std::string& key);

 private:
  friend class ConfigFile;
  const ConfigEntry* find(const std::string& key);
  void refuse_value(const ConfigEntry& entry, std::string_view rule);
  template <typename Kind>
  std::optional<Kind> value(const std::string& key, std::string_view rule, Kind stand_in,
                            std::optional<Kind> (*convert)(const ConfigValue&));
  std::optional<double> with_unit(const std::string& key, std::string_view example, double stand_in,
                                  double (*parse)(std::string_view, std::string_view));
  void report_unknown();

  ConfigFile* file_;
  std::string title_;
  int line_;
  const ConfigTable* table_;
  std::vector<std::string> asked_;
  bool is_sound_ = true;
};

class ConfigFile {
 public:
  // Throws UsageError where the file cannot be read.
  explicit ConfigFile(const std::filesystem::path& path);

  // A table that another file holds as its section `section`, whose name messages give.
  ConfigFile(ConfigTable table, const std::string& section);
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  using Read = ConfigSection::Read;

  // What stands above the sections.
  ConfigSection& top() { return top_; }

  // [name]; called for a section that is missing too, which then has no keys.
  void one(const std::string& name, const Read& read);

  // Each [[name]], in order.
  void each(const std::string& name, const Read& read);

  // Notes a problem; one that was noted before is not repeated.
  void report(int line, std::string_view message);

  // To be called when all that is known has been asked for. Returns all problems in the order of
  // their lines.
  std::vector<ConfigProblem> take_problems();

  // The same, but throws UsageError with all problems, "FILE:LINE: message" each, if there are any.
  void finish();

 private:
  const ConfigEntry* find(const std::string& name);
  void report_unknown();

  std::string name_;
  std::string prefix_;  // Of the names of sections in messages: "cluster.".
  ConfigTable table_;
  ConfigSection top_;
  std::vector<std::string> sections_;  // Names asked for.
  std::vector<ConfigProblem> problems_;
};

}  // namespace huddle
