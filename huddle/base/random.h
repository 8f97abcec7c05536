// Seeded randomness that gives the same numbers on every machine and in every engine.
//
// Nothing here has state that outlives a call chain: a stream is made from a seed and from what it
// is for (a worker, a step), so that every worker can draw the same numbers without a message, and
// a resumed run needs no saved generator. Generator: SplitMix64. The standard library's
// distributions differ between implementations, so they are not used.

#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <utility>
#include <vector>

namespace huddle {

class Random {
 public:
  using Seed = std::uint64_t;

  // A stream of its own for each distinct (seed, purpose).
  explicit Random(Seed seed, std::initializer_list<std::uint64_t> purpose = {}) : state_(seed) {
    for (const std::uint64_t word : purpose)
      state_ = bits() ^ (word * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du);
  }

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // In [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // In 0..bound-1, each equally likely. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit =
        bound * (~std::uint64_t{0} / bound);  // Rejects the tail, which would favour small values.
    std::uint64_t drawn = bits();
    while (drawn >= limit) drawn = bits();
    return drawn % bound;
  }

  // Mean 0, variance 1 (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  // Gamma(shape, 1) by Marsaglia and Tsang. May round to 0 for shapes below 0.01. REQUIRES: shape >
  // 0.
  double gamma(double shape) {
    if (shape < 1) {
      const double boosted = gamma(shape + 1);
      return boosted * std::pow(1.0 - uniform(), 1.0 / shape);
    }
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3);
      if (v > 0 && std::log(1.0 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
        return d * v;
    }
  }

  // Fisher-Yates, last place first.
  template <typename Item>
  void shuffle(std::vector<Item>& items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[below(left)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace huddle
