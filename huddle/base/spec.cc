#include "huddle/base/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// Without the rounding that streams do by default.
std::string plain(double number) {
  return number == std::floor(number) ? std::to_string(std::llround(number)) : concat(number);
}

bool is_in_range(const KeyInfo& key, double number) {
  return key.ends == KeyInfo::Ends::included ? key.minimum <= number && number <= key.maximum
                                             : key.minimum < number && number < key.maximum;
}

std::string range_of(const KeyInfo& key) {
  const std::string least = plain(key.minimum);
  const std::string most = plain(key.maximum);
  return key.ends == KeyInfo::Ends::excluded ? concat("above ", least, " and below ", most)
                                             : concat("from ", least, " to ", most);
}

bool is_allowed(const KeyInfo& key, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = key.type != KeyInfo::Type::integer || number == std::floor(number);
  return error == std::errc() && end == value.data() + value.size() && std::isfinite(number) &&
         whole && is_in_range(key, number);
}

// A fallback need not be a number itself ("0.9/N").
void check_number(std::string_view what, std::string_view name, const KeyInfo& key,
                  const std::string& value) {
  if (is_allowed(key, value)) return;
  throw UsageError(concat(
      what, " '", name, "': ", key.name, "='", value, "' is not ",
      key.type == KeyInfo::Type::integer ? "a whole number " : "a number ", range_of(key),
      is_allowed(key, key.fallback) ? concat("; for example ", key.name, "=", key.fallback, ".")
                                    : "."));
}

void validate(std::string_view what, const SpecInfo& info, const KeyInfo& key,
              const std::string& value) {
  if (key.type == KeyInfo::Type::text || value == key.fallback) return;
  if (key.type != KeyInfo::Type::choice) {
    check_number(what, info.name, key, value);
  } else if (std::find(key.choices.begin(), key.choices.end(), value) == key.choices.end()) {
    throw UsageError(
        concat(what, " '", info.name, "': ", unknown_value(key.name, value, key.choices)));
  }
}

}  // namespace

Spec parse_spec(std::string_view text) {
  const auto malformed = [&](std::string_view reason) {
    return UsageError(
        concat("'", text, "': ", reason,
               "; write name:key=value,key=value, for example bsp:algorithm=ring,buckets=4."));
  };
  Spec spec;
  const std::size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (spec.name.empty()) throw malformed("the name is missing");
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size())
      throw malformed(concat("'", pair, "' is not key=value"));
    if (!spec.values.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      throw malformed(concat("the key '", pair.substr(0, equals), "' is given twice"));
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_string(const Spec& spec) {
  std::string text = spec.name;
  char separator = ':';
  for (const auto& [key, value] : spec.values) {
    text += concat(separator, key, "=", value);
    separator = ',';
  }
  return text;
}

Options::Options(std::string_view what, const SpecInfo& info, const Spec& spec) {
  const auto form = spec.values.find("form");
  const bool is_published = form != spec.values.end() && form->second == "paper";
  std::vector<std::string> known;
  for (const KeyInfo& key : info.keys) {
    known.push_back(key.name);
    values_[key.name] = is_published && !key.published.empty() ? key.published : key.fallback;
  }
  for (const auto& [name, value] : spec.values) {
    const auto key = std::find_if(info.keys.begin(), info.keys.end(),
                                  [&](const KeyInfo& each) { return each.name == name; });
    if (key == info.keys.end()) {
      if (known.empty())
        throw UsageError(
            concat(what, " '", info.name, "' takes no keys, but '", name, "' was given."));
      throw UsageError(concat(what, " '", info.name, "': ", unknown_value("key", name, known)));
    }
    validate(what, info, *key, value);
    values_[name] = value;
    given_.insert(name);
  }
}

void Options::settle(std::string_view key, const std::string& value) {
  if (text(key) == kAuto) values_.find(key)->second = value;
}

const std::string& Options::text(std::string_view key) const {
  const auto found = values_.find(key);
  check(found != values_.end(), "a key is read that its SpecInfo does not declare");
  return found->second;
}

double Options::number(std::string_view key) const {
  const std::string& value = text(key);  // Validated when this was made.
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::int64_t Options::integer(std::string_view key) const { return std::llround(number(key)); }

SpecInfo find_info(std::string_view what, std::span<const SpecInfo> known, std::string_view name) {
  std::vector<std::string> names;
  for (const SpecInfo& info : known) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw UsageError(unknown_value(what, name, names));
}

}  // namespace huddle
