// Values as bytes, and back: how the processes of one job, which are of one build, tell one another
// more than numbers. What goes to other programs, or stays, has formats of its own (docs/files.md).
//
// Takes numbers, enumerations, strings, optionals, pairs, containers, strong types with a `value`,
// groups, and structs that name their fields once, in the order in which they travel:
//
//   static auto fields(auto& self) { return std::tie(self.loss, self.accuracy); }

#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/group.h"

namespace huddle {

namespace packing {

template <typename Value>
concept Plain = std::is_arithmetic_v<Value> || std::is_enum_v<Value>;

template <typename Value>
void write(std::string& bytes, const Value& value) {
  if constexpr (Plain<Value>) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  } else if constexpr (requires { Value::fields(value); }) {
    std::apply([&](const auto&... each) { (write(bytes, each), ...); }, Value::fields(value));
  } else if constexpr (requires { value.has_value(); }) {
    write(bytes, value.has_value());
    if (value) write(bytes, *value);
  } else if constexpr (requires { value.first; }) {
    write(bytes, value.first);
    write(bytes, value.second);
  } else if constexpr (requires { value.value; }) {
    write(bytes, value.value);
  } else {
    write(bytes, static_cast<std::uint64_t>(value.size()));
    for (const auto& each : value) write(bytes, each);
  }
}

template <typename Value>
Value read(std::string_view& bytes);

// What of a container's element can be filled: a map's has a constant key.
template <typename Element>
struct Writable {
  using type = Element;
};
template <typename Key, typename Value>
struct Writable<std::pair<const Key, Value>> {
  using type = std::pair<Key, Value>;
};

template <typename Value>
void read_into(std::string_view& bytes, Value& value) {
  if constexpr (Plain<Value>) {
    check(bytes.size() >= sizeof value, "a report is shorter than its fields");
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
  } else if constexpr (std::is_same_v<Value, Group>) {
    value = Group(read<std::vector<WorkerId>>(bytes));
  } else if constexpr (requires { Value::fields(value); }) {
    std::apply([&](auto&... each) { (read_into(bytes, each), ...); }, Value::fields(value));
  } else if constexpr (requires { value.has_value(); }) {
    value.reset();
    if (read<bool>(bytes)) value = read<typename Value::value_type>(bytes);
  } else if constexpr (requires { value.first; }) {
    read_into(bytes, value.first);
    read_into(bytes, value.second);
  } else if constexpr (requires { value.value; }) {
    read_into(bytes, value.value);
  } else {
    const auto size = read<std::uint64_t>(bytes);
    check(size <= bytes.size(), "a report is shorter than its list");
    value.clear();
    for (std::uint64_t i = 0; i < size; ++i)
      value.insert(value.end(), read<typename Writable<typename Value::value_type>::type>(bytes));
  }
}

template <typename Value>
Value read(std::string_view& bytes) {
  Value value{};
  read_into(bytes, value);
  return value;
}

}  // namespace packing

template <typename Value>
std::string packed(const Value& value) {
  std::string bytes;
  packing::write(bytes, value);
  return bytes;
}

// Throws LogicError on bytes that `packed` has not made of such a value.
template <typename Value>
Value unpacked(std::string_view bytes) {
  Value value = packing::read<Value>(bytes);
  check(bytes.empty(), "a report is longer than its fields");
  return value;
}

}  // namespace huddle
