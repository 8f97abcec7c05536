// How kinds of values stand in JSON files: numbers, texts, lists and whatever is made of them.
//
// Files may be older than the program, or edited by hand: what is missing or of another kind reads
// as nothing. Numbers that are not finite are null in a file.

#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace huddle {

using Json = nlohmann::ordered_json;

// `read` is false for what is of another kind, and the value then is nothing. `shape` tells what is
// to be expected: one of the words "text", "name" (a text or null), "number", "figure" (a number or
// null) and "flag"; a list of one shape; {"*": shape} for values by any name; {"?": shape} for what
// may be null or missing; or an object of shapes.
template <typename Value>
struct JsonKind;

template <typename Value>
Json written(const Value& value) {
  return JsonKind<Value>::write(value);
}

template <typename Value>
bool read_into(const Json& json, Value& value) {
  return JsonKind<Value>::read(json, value);
}

template <>
struct JsonKind<std::string> {
  static Json write(const std::string& text) { return text; }
  static bool read(const Json& json, std::string& text) {
    text = json.is_string() ? json.get<std::string>() : "";
    return json.is_string();
  }
  static Json shape() { return "text"; }
};

template <>
struct JsonKind<bool> {
  static Json write(bool flag) { return flag; }
  static bool read(const Json& json, bool& flag) {
    flag = json.is_boolean() && json.get<bool>();
    return json.is_boolean();
  }
  static Json shape() { return "flag"; }
};

template <typename Number>
requires std::integral<Number> || std::floating_point<Number>
struct JsonKind<Number> {
  static Json write(Number number) { return number; }
  static bool read(const Json& json, Number& number) {
    number = json.is_number() ? json.get<Number>() : std::numeric_limits<Number>::quiet_NaN();
    return json.is_number();
  }
  static Json shape() { return std::floating_point<Number> ? "figure" : "number"; }
};

template <typename Value>
struct JsonKind<std::optional<Value>> {
  static Json write(const std::optional<Value>& value) { return value ? written(*value) : Json(); }
  static bool read(const Json& json, std::optional<Value>& value) {
    if (!read_into(json, value.emplace())) value.reset();
    return true;
  }
  static Json shape() {
    const Json inner = JsonKind<Value>::shape();
    return inner == "figure" ? inner : Json{{"?", inner}};
  }
};

template <typename Value>
struct JsonKind<std::vector<Value>> {
  static Json write(const std::vector<Value>& list) {
    Json json = Json::array();
    for (const Value& value : list) json.push_back(written(value));
    return json;
  }
  static bool read(const Json& json, std::vector<Value>& list) {
    list.clear();
    if (!json.is_array()) return false;
    for (const Json& item : json)
      if (!read_into(item, list.emplace_back())) list.pop_back();
    return true;
  }
  static Json shape() { return Json::array({JsonKind<Value>::shape()}); }
};

template <typename Value>
struct JsonKind<std::map<std::string, Value>> {
  static Json write(const std::map<std::string, Value>& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[name] = written(value);
    return json;
  }
  static bool read(const Json& json, std::map<std::string, Value>& values) {
    values.clear();
    if (!json.is_object()) return false;
    for (const auto& [name, item] : json.items())
      if (!read_into(item, values[name])) values.erase(name);
    return true;
  }
  static Json shape() { return {{"*", JsonKind<Value>::shape()}}; }
};

}  // namespace huddle
