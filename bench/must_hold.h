// The bounds that a benchmark stands for: each is printed with what came of it, and all together
// decide how the program ends.

#pragma once

#include <fmt/format.h>

#include <string_view>

namespace huddle {

enum class BenchSize { tiny, full };

// The size that the command line asks for.
inline BenchSize bench_size(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "--tiny" ? BenchSize::tiny : BenchSize::full;
}

class MustHold {
 public:
  explicit MustHold(BenchSize size) : size_(size) {}

  // For what follows from the arguments alone, such as virtual times: it holds at every size.
  void always(bool holds, std::string_view bound) {
    fmt::print("must hold: {}: {}\n", bound, holds ? "holds" : "DOES NOT HOLD");
    all_hold_ = all_hold_ && holds;
  }

  // For what only shows in long runs.
  void at_full_size(bool holds, std::string_view bound) {
    if (size_ == BenchSize::full)
      always(holds, bound);
    else
      fmt::print("must hold: {}: not at this size\n", bound);
  }

  int exit_status() const { return all_hold_ ? 0 : 1; }

 private:
  const BenchSize size_;
  bool all_hold_ = true;
};

}  // namespace huddle
