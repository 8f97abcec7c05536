#include "huddle/schedule/traffic.h"

#include <algorithm>

namespace huddle {
namespace {

// One phase, in the same terms as a whole schedule.
ScheduleTraffic phase_traffic(const Partition& partition, int workers) {
  ScheduleTraffic phase;
  for (const Group& group : partition) {
    const Traffic each = group_traffic(group.size());
    const double share = static_cast<double>(group.size()) / workers;
    phase.bytes += share * each.bytes;
    phase.messages += share * each.messages;
    phase.worst_bytes = std::max(phase.worst_bytes, each.bytes);
    phase.sequential_messages = std::max<double>(phase.sequential_messages, each.messages);
  }
  return phase;
}

void add(ScheduleTraffic& total, double share, const ScheduleTraffic& phase) {
  total.bytes += share * phase.bytes;
  total.messages += share * phase.messages;
  total.sequential_messages += share * phase.sequential_messages;
  if (share > 0) total.worst_bytes = std::max(total.worst_bytes, phase.worst_bytes);
}

}  // namespace

Traffic group_traffic(int size) {
  return size == 2 ? Traffic{.bytes = 1, .messages = 1} : ring_traffic(size);
}

Traffic ring_traffic(int size) {
  if (size <= 1) return {};
  return {.bytes = 2.0 * (size - 1) / size, .messages = 2 * (size - 1)};
}

ScheduleTraffic schedule_traffic(const Schedule& schedule) {
  const int workers = schedule.members().size();
  const int every = schedule.global_every();
  const double global_share = every == 0 ? 0 : 1.0 / every;
  ScheduleTraffic total;
  for (int phase = 0; phase < schedule.turn(); ++phase)
    add(total, (1 - global_share) / schedule.turn(),
        phase_traffic(schedule.cycle_phase(phase), workers));
  add(total, global_share, phase_traffic({schedule.members()}, workers));
  const auto steps = static_cast<double>(schedule.meetings().every);  // Of one meeting.
  total.bytes *= schedule.meetings().bytes / steps;
  total.worst_bytes *= schedule.meetings().bytes;
  total.messages *= schedule.meetings().averages / steps;
  total.sequential_messages *= schedule.meetings().averages / steps;
  return total;
}

}  // namespace huddle
