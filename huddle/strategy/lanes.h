// Who uses which lane. A replica has one strategy (and a warm-up before it, never at once), so
// lanes of different strategies may be equal; those that one strategy uses at the same time differ.
// Lane 63 is for measuring (tag.h).

#pragma once

#include "huddle/transport/tag.h"

namespace huddle {

inline constexpr int kGradientLanes = 60;     // 1..60: buckets of gradients side by side.
inline constexpr Lane kScheduleLane{1};       // Scheduled averages beside backward.
inline constexpr Lane kPartialRoundLane{57};  // Rounds of eager.
inline constexpr Lane kBudgetLane{58};        // The counter of all workers' steps.
inline constexpr Lane kPairLane{59};          // Exchanges of ad_psgd, beside kBudgetLane.
inline constexpr Lane kServerReplyLane{59};   // Parameters, beside kServerLane.
inline constexpr Lane kServerLane{60};        // Parameter servers, and gradients for them.
inline constexpr Lane kRoundLane{61};         // Rounds of local steps, beside gradient lanes.
inline constexpr Lane kControllerLane{62};    // The controller of p_reduce.

}  // namespace huddle
