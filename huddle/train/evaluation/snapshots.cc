#include "huddle/train/evaluation/snapshots.h"

#include <algorithm>

namespace huddle {

Snapshots::Snapshots(std::int64_t every, std::int64_t steps, double done)
    : every_(every), steps_(steps) {
  if (every > 0) reached_ = static_cast<std::int64_t>(done) / every * every;
}

void Snapshots::offer(double progress, Time now, const Replica& replica) {
  if (every_ == 0) return;
  while (reached_ < steps_) {
    const std::int64_t next = std::min(reached_ + every_, steps_);
    if (progress < static_cast<double>(next)) return;
    reached_ = next;
    kept_.push_back({static_cast<double>(next), now, replica.parameters().clone(),
                     replica.statistics().clone()});
  }
}

}  // namespace huddle
