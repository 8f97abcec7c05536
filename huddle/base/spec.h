// The one spelling of choices: `name:key=value,key=value`, the same on the command line, in files,
// in C++ and in Python.
//
// What may be chosen is declared as data (KeyInfo), so the same table validates a spec, fills in
// defaults and prints help.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace huddle {

// `bsp:algorithm=ring,buckets=4` taken apart, not yet validated.
struct Spec {
  std::string name;
  std::map<std::string, std::string> values;
};

// Throws UsageError on a malformed text (no name, a key without a value, a key given twice).
Spec parse_spec(std::string_view text);

// `bsp:algorithm=ring,buckets=4` again; keys in alphabetical order.
std::string to_string(const Spec& spec);

// Whole numbers up to here are exact in a double; a larger maximum means none.
inline constexpr double kUnbounded = 0x1p53;

// The value of a key that leaves open what it comes to: whoever knows the setting settles it.
inline constexpr std::string_view kAuto = "auto";

// What one key means and which values it takes.
struct KeyInfo {
  // A text is free here; its reader checks it.
  enum class Type { integer, number, choice, text };
  enum class Ends { included, excluded };

  std::string name;
  Type type = Type::integer;
  std::string fallback;                   // The value when the key is not given.
  std::string help;                       // One line.
  double minimum = 0;                     // Of an integer or number.
  double maximum = kUnbounded;            // Likewise. An integer that becomes an int needs one.
  Ends ends = Ends::included;             // Whether these two are allowed themselves.
  std::vector<std::string> choices = {};  // Of a choice.
  std::string published = {};             // The fallback under form=paper, where that is another.
};

// One thing that can be chosen by name.
struct SpecInfo {
  std::string name;
  std::string summary;  // One line.
  std::vector<KeyInfo> keys = {};
};

// A validated spec with every key filled in. What is given always wins over `form`, a key like any
// other, and form=paper over the fallbacks.
class Options {
 public:
  // Throws UsageError naming the value and the allowed ones on an unknown key or a value out of
  // range. `what` is the kind of thing in the singular ("strategy").
  Options(std::string_view what, const SpecInfo& info, const Spec& spec);

  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  const std::string& text(std::string_view key) const;

  // Whether there is such a key at all.
  bool has(std::string_view key) const { return values_.contains(key); }

  // Whether the spec itself has the key; else its value is the fallback.
  bool is_given(std::string_view key) const { return given_.contains(key); }

  // What a key comes to whose value leaves it open, `auto`; nothing where it does not.
  void settle(std::string_view key, const std::string& value);

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

// The entry called `name`, or UsageError with the nearest match.
SpecInfo find_info(std::string_view what, std::span<const SpecInfo> known, std::string_view name);

}  // namespace huddle
