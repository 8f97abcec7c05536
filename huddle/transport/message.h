// Small typed messages: a struct of numbers as it travels, and back. One codec for all control
// messages.
//
// A message type names its fields once, in the order in which they travel:
//
//   struct Push {
//     bool is_last = false;
//     double learning_rate = 0;
//     static auto fields(auto& self) { return std::tie(self.is_last, self.learning_rate); }
//   };
//
// Fields are numbers, enumerations, strong types with a `value`, groups, other messages, and lists
// of these. They travel as float64, in which counters are exact up to 2^53. Both ends know the
// size: a message with lists is padded to what the longest would need.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <iterator>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/group.h"

namespace huddle {

namespace message {

template <typename Value>
concept Number = std::is_arithmetic_v<Value> || std::is_enum_v<Value>;

template <typename Value>
void write(std::vector<double>& numbers, const Value& value) {
  if constexpr (Number<Value>) {
    numbers.push_back(static_cast<double>(value));
  } else if constexpr (requires { Value::fields(value); }) {
    std::apply([&](const auto&... each) { (write(numbers, each), ...); }, Value::fields(value));
  } else if constexpr (requires { value.value; }) {
    write(numbers, value.value);
  } else {
    write(numbers, std::ssize(value));
    for (const auto& each : value) write(numbers, each);
  }
}

void read(std::span<const double>& numbers, Group& group);

// Reads from the front of `numbers` and leaves the rest. Throws LogicError on a message that is too
// short for what it says of itself.
template <typename Value>
void read(std::span<const double>& numbers, Value& value) {
  if constexpr (Number<Value>) {
    check(!numbers.empty(), "a message is shorter than its fields");
    value = static_cast<Value>(numbers.front());
    numbers = numbers.subspan(1);
  } else if constexpr (requires { Value::fields(value); }) {
    std::apply([&](auto&... each) { (read(numbers, each), ...); }, Value::fields(value));
  } else if constexpr (requires { value.value; }) {
    read(numbers, value.value);
  } else {
    std::size_t size = 0;
    read(numbers, size);
    check(size <= numbers.size(), "a message is shorter than its list");
    value.resize(size);
    for (auto& each : value) read(numbers, each);
  }
}

inline void read(std::span<const double>& numbers, Group& group) {
  std::vector<WorkerId> members;
  read(numbers, members);
  group = Group(members);
}

// REQUIRES: no more numbers than `size`.
at::Tensor tensor_of(std::vector<double> numbers, std::size_t size);
std::span<const double> numbers_of(const at::Tensor& tensor);

}  // namespace message

// How many numbers such a message has.
template <typename Message>
std::size_t size_of(const Message& longest = {}) {
  std::vector<double> numbers;
  message::write(numbers, longest);
  return numbers.size();
}

template <typename Message>
at::Tensor to_tensor(const Message& message, std::size_t size = size_of<Message>()) {
  std::vector<double> numbers;
  message::write(numbers, message);
  return message::tensor_of(std::move(numbers), size);
}

template <typename Message>
Message from_tensor(const at::Tensor& tensor) {
  std::span<const double> numbers = message::numbers_of(tensor);
  Message message;
  message::read(numbers, message);
  return message;
}

// To receive a message into.
inline at::Tensor room_for(std::size_t size) { return message::tensor_of({}, size); }

}  // namespace huddle
