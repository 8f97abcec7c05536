// How much each member of a P-Reduce group counts: x <- sum over members j of w_j x_j.
//
// A member's iteration k_j counts its steps and jumps to the newest member's with every average.
// Its staleness is how far it is behind: s_j = max k - k_j. Constant weights ignore it and keep the
// mean over all workers exactly; dynamic ones lean towards the newest models, by powers of a decay,
// and move that mean. The paper's formula is not public: the slots are those of a third party's
// code, the policies for empty ones are ours, and so is the default, `member`.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace huddle {

// Dynamic weights share 1 out among slots, one for each staleness from 0 to the largest; the slot
// of staleness s is worth decay^s, normalised. Members of equal staleness split their slot equally.
// The policies differ in who gets the slots that have no member. Only `member` never gives a staler
// model more than a newer one: a lone stale member need not share, and empty slots pile up on it.
enum class GapPolicy {
  member,   // No slots: every member is worth decay^s, normalised.
  forward,  // The nearest older slot that has members, as in a moving average.
  skip,     // Nobody: the slots with members are normalised.
  stalest,  // The stalest member; of several the first listed.
};

struct DynamicWeights {
  GapPolicy policy = GapPolicy::member;
  double decay = 0.9;
};

// 1 / members for each. Throws UsageError unless members >= 1.
std::vector<double> constant_weights(int members);

// In the order of `iterations`, which is that in which members joined the group. They sum to 1;
// equal iterations give the constant weights bit for bit. Costs P log P, however far apart
// iterations lie. Throws UsageError for an empty group and unless 0 < decay < 1.
std::vector<double> dynamic_weights(std::span<const std::int64_t> iterations,
                                    const DynamicWeights& rule);

// Every member's iteration after the average: the newest's. Throws UsageError for an empty group.
std::int64_t new_iteration(std::span<const std::int64_t> iterations);

}  // namespace huddle
