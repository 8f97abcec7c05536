// How a model is dealt out to parameter servers, and what passes between them and workers.
//
// Every bucket is cut into N slices, and the server beside each worker holds its slice of all of
// them. A worker sends every server a Push and its slices of the gradients, bucket by bucket, and
// gets the parameters likewise, and from the counting server a ServerReply. After its last step it
// sends a Push that says so, and gets the final parameters once everybody has done that.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

#include "huddle/base/ids.h"
#include "huddle/replica/replica.h"
#include "huddle/strategy/lanes.h"
#include "huddle/transport/tag.h"

namespace huddle {

// The part of a bucket that the server beside `home` holds. Sizes differ by at most one element;
// where there are more workers than elements the last workers hold none.
Range slice_of(const Bucket& bucket, WorkerId home, int workers);

// Gradients and parameters have a lane each, as they have a connection each between two workers
// that are one another's servers.
inline constexpr Tag kPushTag{Kind::control, Purpose::message, kServerLane, {0}};
inline constexpr Tag kReplyTag{Kind::control, Purpose::message, kServerReplyLane, {0}};
constexpr Tag gradient_tag(const Bucket& bucket) {
  return {Kind::payload, Purpose::message, kServerLane, {static_cast<std::uint32_t>(bucket.index)}};
}
constexpr Tag parameters_tag(const Bucket& bucket) {
  return {Kind::payload,
          Purpose::message,
          kServerReplyLane,
          {static_cast<std::uint32_t>(bucket.index)}};
}

struct Push {
  bool is_last = false;  // No gradients follow, now or ever.
  double learning_rate = 0;
  static auto fields(auto& self) { return std::tie(self.is_last, self.learning_rate); }
};
struct ServerReply {
  bool go_on = true;
  std::int64_t updates = 0;  // Applied so far by the counting server.
  double rate_factor = 1;    // Of the worker's next gradient.
  static auto fields(auto& self) { return std::tie(self.go_on, self.updates, self.rate_factor); }
};

}  // namespace huddle
