// What a schedule sends: bytes and messages of one step, by the sizes of its groups.
//
// A group of two exchanges everything at once: one message, as many bytes as the model has (M). A
// larger group of n averages by a ring: 2(n-1) messages one after another, 2(n-1)/n M bytes. A
// worker alone sends nothing. Groups of a phase work side by side, so its slowest group counts for
// the messages in sequence (the handshakes that latency multiplies). Narrow formats, and optimizer
// state that is averaged after the model, count as the schedule's meetings say.

#pragma once

#include "huddle/schedule/schedule.h"

namespace huddle {

// Of one worker in one step. Bytes are in units of the model's.
struct Traffic {
  double bytes = 0;
  int messages = 0;
};

// What each member of a group of `size` sends.
Traffic group_traffic(int size);

// What each member of a ring sends, also for two.
Traffic ring_traffic(int size);

struct ScheduleTraffic {
  double bytes = 0;                // Mean over workers and steps.
  double worst_bytes = 0;          // Of any worker in any step.
  double messages = 0;             // Mean over workers and steps.
  double sequential_messages = 0;  // Mean over steps.
};

ScheduleTraffic schedule_traffic(const Schedule& schedule);

}  // namespace huddle
