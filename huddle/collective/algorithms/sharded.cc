#include "huddle/collective/algorithms/sharded.h"

#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/collective/algorithms/ring.h"

namespace huddle {
namespace {

// The first and the last chunk cannot overlap with others: more chunks hide more, and cost more
// messages.
constexpr int kChunks = 16;

// Calls act(chunk, step) so that a chunk's next step comes one turn after its last: nobody waits
// for a message just sent.
template <typename Act>
void in_waves(int chunks, int steps, Act&& act) {
  for (int wave = 0; wave < chunks + steps - 1; ++wave)
    for (int chunk = std::max(0, wave - steps + 1); chunk <= std::min(wave, chunks - 1); ++chunk)
      act(chunk, wave - chunk);
}

}  // namespace

Plan sharded_plan(int position, const Racks& racks, Overlap overlap) {
  const int chunks = overlap == Overlap::phases ? kChunks : 1;
  const int rack_count = static_cast<int>(racks.size());
  const int per_rack = static_cast<int>(racks.front().size());
  Ring in_rack;
  Ring across;
  for (int rack = 0; rack < rack_count; ++rack) {
    const std::vector<int>& members = racks[static_cast<std::size_t>(rack)];
    if (static_cast<int>(members.size()) != per_rack)
      throw UsageError(concat(
          "algorithm 'sharded' needs the same number of members in every rack, but a group has ",
          per_rack, " in one and ", members.size(), " in another; use leader or ring."));
    const auto found = std::find(members.begin(), members.end(), position);
    if (found == members.end()) continue;
    in_rack.members = members;
    in_rack.index = static_cast<int>(found - members.begin());
    across.index = rack;
  }
  for (const std::vector<int>& rack : racks)
    across.members.push_back(rack[static_cast<std::size_t>(in_rack.index)]);

  // Segment (chunk, shard, part): one chunk has per_rack shards, one shard has rack_count parts.
  const int segments_per_chunk = per_rack * rack_count;
  Plan plan{.segments = chunks * segments_per_chunk, .pieces = 1, .actions = {}};
  const auto in_chunk = [&](int chunk) {
    Ring ring = in_rack;
    ring.first_segment = chunk * segments_per_chunk;
    ring.part_segments = rack_count;
    return ring;
  };
  in_waves(chunks, per_rack - 1,
           [&](int chunk, int step) { in_chunk(chunk).reduce_scatter(step, 0, plan); });
  const auto shard_in_chunk = [&](int chunk) {
    Ring ring = across;
    ring.first_segment = chunk * segments_per_chunk + in_rack.owned_part() * rack_count;
    return ring;
  };
  in_waves(chunks, 2 * (rack_count - 1), [&](int chunk, int step) {
    if (step < rack_count - 1)
      shard_in_chunk(chunk).reduce_scatter(step, 1, plan);
    else
      shard_in_chunk(chunk).all_gather(step - (rack_count - 1), 1, plan);
  });
  in_waves(chunks, per_rack - 1,
           [&](int chunk, int step) { in_chunk(chunk).all_gather(step, 2, plan); });
  return plan;
}

}  // namespace huddle
