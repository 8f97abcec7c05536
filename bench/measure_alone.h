// A measurement in a process of its own. SimGrid simulates once per process, and what a measurement
// takes of the machine, time and memory, is told apart by process.

#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <type_traits>

#include "huddle/base/error.h"
#include "huddle/base/ids.h"
#include "tests/support/in_child.h"

namespace huddle {

// What a measurement came to, and what it took.
template <typename Value>
struct Alone {
  Value value;
  Seconds seconds = 0;
  Seconds processor_seconds = 0;  // What `seconds` would be on an idle machine, for one thread.
  double peak_bytes = 0;          // Of the whole process, what it had from the start included.
  double bytes_at_start = 0;
};

inline Seconds processor_seconds(const rusage& use) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

template <typename Measure>
Alone<std::invoke_result_t<Measure>> with_use(const Measure& measure) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  const auto begin = std::chrono::steady_clock::now();
  Alone<std::invoke_result_t<Measure>> result{.value = measure()};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  getrusage(RUSAGE_SELF, &after);
  result.processor_seconds = processor_seconds(after) - processor_seconds(before);
  result.bytes_at_start = 1024 * static_cast<double>(before.ru_maxrss);
  result.peak_bytes = 1024 * static_cast<double>(after.ru_maxrss);
  return result;
}

// Runs `measure` in a child of this process. What it throws is printed there, and is an error here.
// REQUIRES: this process has started no threads, and has not simulated.
template <typename Measure>
requires std::is_trivially_copyable_v<std::invoke_result_t<Measure>>
auto measure_alone(const Measure& measure) {
  using Result = Alone<std::invoke_result_t<Measure>>;
  const ChildEnding ending = in_child([&](int pipe) {
    try {
      const Result result = with_use(measure);
      return ::write(pipe, &result, sizeof result) == sizeof result ? 0 : 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  });
  Result result{};
  check(ending.succeeded && ending.said.size() == sizeof result,
        "a measurement in a process of its own failed");
  std::memcpy(&result, ending.said.data(), sizeof result);
  return result;
}

}  // namespace huddle
