#include "huddle/strategy/p_reduce/staleness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Weights = std::vector<double>;

// A group's members by how far they are behind.
struct Ages {
  double decay;
  std::vector<std::int64_t> of_member;
  std::map<std::int64_t, int> occupied = {};  // Staleness -> members in that slot.

  std::int64_t slots() const { return occupied.rbegin()->first + 1; }
  double power(std::int64_t age) const { return std::pow(decay, static_cast<double>(age)); }
};

Ages ages_of(std::span<const std::int64_t> iterations, double decay) {
  const std::int64_t newest = new_iteration(iterations);
  Ages ages{.decay = decay, .of_member = {}};
  for (const std::int64_t iteration : iterations) {
    ages.of_member.push_back(newest - iteration);
    ++ages.occupied[newest - iteration];
  }
  return ages;
}

void normalise(Weights& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

Weights member_weights(const Ages& ages) {
  Weights weights;
  for (const std::int64_t age : ages.of_member) weights.push_back(ages.power(age));
  normalise(weights);
  return weights;
}

// Splits each slot's worth equally among its members.
Weights split(const Ages& ages, const std::map<std::int64_t, double>& worth) {
  Weights weights;
  for (const std::int64_t age : ages.of_member)
    weights.push_back(worth.at(age) / ages.occupied.at(age));
  return weights;
}

Weights skip_weights(const Ages& ages) {
  double sum = 0;
  for (const auto& [age, members] : ages.occupied) sum += ages.power(age);
  std::map<std::int64_t, double> worth;
  for (const auto& [age, members] : ages.occupied) worth[age] = ages.power(age) / sum;
  return split(ages, worth);
}

// A slot that has members also gets the empty ones up to the next newer that has some. These are
// consecutive powers of the decay, whose sum is a difference of two.
Weights forward_weights(const Ages& ages) {
  std::map<std::int64_t, double> worth;
  std::int64_t begin = 0;
  for (const auto& [age, members] : ages.occupied) {
    worth[age] = (ages.power(begin) - ages.power(age + 1)) / (1 - ages.power(ages.slots()));
    begin = age + 1;
  }
  return split(ages, worth);
}

Weights stalest_weights(const Ages& ages) {
  std::map<std::int64_t, double> worth;
  double empty = 1;
  for (const auto& [age, members] : ages.occupied) {
    worth[age] = (1 - ages.decay) * ages.power(age) / (1 - ages.power(ages.slots()));
    empty -= worth[age];
  }
  Weights weights = split(ages, worth);
  const auto stalest = std::max_element(ages.of_member.begin(), ages.of_member.end());
  const bool has_gaps = static_cast<std::int64_t>(ages.occupied.size()) < ages.slots();
  if (has_gaps) weights[static_cast<std::size_t>(stalest - ages.of_member.begin())] += empty;
  return weights;
}

}  // namespace

std::vector<double> constant_weights(int members) {
  if (members < 1)
    throw UsageError(concat("a group of ", members, " has no weights; give it at least 1 member."));
  return Weights(static_cast<std::size_t>(members), 1.0 / members);
}

std::vector<double> dynamic_weights(std::span<const std::int64_t> iterations,
                                    const DynamicWeights& rule) {
  if (!(rule.decay > 0 && rule.decay < 1))
    throw UsageError(concat("a decay of ", rule.decay,
                            " is not between 0 and 1, both excluded; 0.9 is the default."));
  const Ages ages = ages_of(iterations, rule.decay);
  switch (rule.policy) {
    case GapPolicy::member: return member_weights(ages);
    case GapPolicy::forward: return forward_weights(ages);
    case GapPolicy::skip: return skip_weights(ages);
    case GapPolicy::stalest: return stalest_weights(ages);
  }
  check(false, "unknown gap policy");
  return {};
}

std::int64_t new_iteration(std::span<const std::int64_t> iterations) {
  if (iterations.empty()) throw UsageError("an empty group has no iteration; give it a member.");
  return *std::max_element(iterations.begin(), iterations.end());
}

}  // namespace huddle
