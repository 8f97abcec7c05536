// What workers and the controller of P-Reduce tell one another: requests to it, assignments from
// it.
//
// Control messages alone, some hundred bytes each, of a size that both ends know. They are float64
// tensors throughout, in which counters are exact up to 2^53.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "huddle/strategy/lanes.h"
#include "huddle/strategy/p_reduce/assignment.h"
#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/transport/tag.h"

namespace huddle {

// The controller runs beside this worker, in this lane.
inline constexpr WorkerId kControllersWorker{0};

struct Request {
  enum class Kind {
    ready,  // Took a step and waits for a group.
    abort,  // Lost a peer of its group, kept its own model and waits for another group.
    leave,  // Takes no further part.
  };

  Kind kind = Kind::ready;
  Incarnation who;
  std::int64_t number = 0;     // Counts this worker's requests; the answer bears it too.
  std::int64_t iteration = 0;  // Of one that is ready, after its step.
  GroupId group;               // That was aborted,
  WorkerId lost;               // and because of whom.
};

Tag request_tag();
Tag answer_tag(std::int64_t number);

// Tensors to receive into. `largest_group`: the same for both ends.
at::Tensor empty_request();
at::Tensor empty_answer(int largest_group);

at::Tensor to_message(const Request& request);
Request to_request(const at::Tensor& message);

// An assignment to nobody tells a worker that it has been given up: a peer reported it lost.
at::Tensor to_message(const Assignment& given, int largest_group);
Assignment to_assignment(const at::Tensor& message);

}  // namespace huddle
