#include "huddle/collective/plan.h"

#include <algorithm>
#include <map>

#include "huddle/base/error.h"
#include "huddle/collective/algorithms/direct.h"
#include "huddle/collective/algorithms/halving_doubling.h"
#include "huddle/collective/algorithms/leader.h"
#include "huddle/collective/algorithms/pair.h"
#include "huddle/collective/algorithms/ring.h"
#include "huddle/collective/algorithms/sharded.h"

namespace huddle {
namespace {

// Below this a message costs more by its latency than by its bytes on common networks (10 Gb/s, 0.1
// ms: 125 kB).
constexpr std::int64_t kLatencyBoundBytes = 128 * 1024;

}  // namespace

const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names{"default", "pair",    "ring",   "halving_doubling",
                                              "leader",  "sharded", "direct", "scattered_ring"};
  return names;
}

Algorithm parse_algorithm(std::string_view name) {
  const auto found = std::find(algorithm_names().begin(), algorithm_names().end(), name);
  check(found != algorithm_names().end(), "not the name of an algorithm");
  return static_cast<Algorithm>(found - algorithm_names().begin());
}

Algorithm choose(Algorithm algorithm, int members, std::int64_t bytes) {
  const bool may_be_pair = algorithm == Algorithm::automatic || algorithm == Algorithm::ring;
  if (members == 2 && may_be_pair) return Algorithm::pair;
  if (algorithm != Algorithm::automatic) return algorithm;
  return bytes <= kLatencyBoundBytes ? Algorithm::halving_doubling : Algorithm::ring;
}

bool knows_racks(Algorithm algorithm) {
  return algorithm == Algorithm::leader || algorithm == Algorithm::sharded ||
         algorithm == Algorithm::scattered_ring;
}

Racks racks_of(const Group& group, const Topology& topology) {
  Racks racks;
  std::map<int, std::size_t> order;  // Of the racks, by their first member.
  for (int position = 0; position < group.size(); ++position) {
    const auto [rack, is_new] = order.try_emplace(topology.rack_of(group[position]), racks.size());
    if (is_new) racks.emplace_back();
    racks[rack->second].push_back(position);
  }
  return racks;
}

Plan make_plan(Algorithm algorithm, int position, const Racks& racks, Overlap overlap) {
  int members = 0;
  for (const auto& rack : racks) members += static_cast<int>(rack.size());
  if (members == 1) return {};
  switch (algorithm) {
    case Algorithm::pair: return pair_plan(position, members);
    case Algorithm::ring: return ring_plan(position, members);
    case Algorithm::scattered_ring: return scattered_ring_plan(position, racks);
    case Algorithm::halving_doubling: return halving_doubling_plan(position, members);
    case Algorithm::leader: return leader_plan(position, racks);
    case Algorithm::sharded: return sharded_plan(position, racks, overlap);
    case Algorithm::direct: return direct_plan(position, members);
    case Algorithm::automatic: break;
  }
  throw LogicError("an algorithm was not chosen before its plan was made");
}

}  // namespace huddle
