#include "huddle/train/recorder.h"

#include <deque>

namespace huddle {

void Recorder::begin(const StepLoop& loop) {
  const Replica& replica = loop.replica();
  replica_ = &replica;
  if (!has_begun() && loop.traits().statistics == StatisticsPolicy::keep &&
      replica.statistics().numel() > 0)
    log_.warnings.push_back(
        "the model has BatchNorm, and this strategy leaves each worker its own statistics "
        "(statistics=keep, as published): average and recompute are the other choices.");
  log_.settled = loop.settled();
  log_.payload_scale = loop.options().averaging.payload_scale;
  log_.has_own_pace = loop.traits().pace == Pace::own;
  log_.parameters = replica.parameters().numel();
  log_.first_step = log_.steps_done = loop.next_step().value;
  snapshots_.emplace(options_.evaluate_every, loop.options().steps, loop.progress());
}

void Recorder::taken(StepLoop& loop, const std::optional<double>& loss) {
  observer_(log_.add(worker_, loop.take(), loss));
  snapshots_->offer(loop.progress(), log_.seconds, loop.replica());
}

void Recorder::finished(StepLoop& loop) {
  const std::vector<Blocked> blocked =
      log_.add_traffic(loop.take_traffic());  // Of what was still in flight.
  if (!blocked.empty()) options_.finished(worker_, blocked);
  log_.figures = loop.strategy().figures();
  snapshots_->complete(log_.seconds, loop.replica());
}

void Recorder::evaluate_kept(Sync& sync, const Judge& judge) {
  const KeptModel own(sync.replica());
  std::deque<Snapshot>& kept = snapshots_->kept();
  for (const std::ptrdiff_t all = std::ssize(kept); !kept.empty(); kept.pop_front()) {
    const Snapshot& snapshot = kept.front();
    log_.snapshot_times.push_back(snapshot.time);
    sync.replica().parameters().copy_(snapshot.parameters);
    sync.replica().statistics().copy_(snapshot.statistics);
    const Sync::Consensus consensus = sync.consensus();
    if (worker_ != WorkerId{0}) continue;
    log_.curve.push_back(
        {.progress = snapshot.progress, .consensus = judge(), .drift = consensus.drift()});
    options_.evaluated(std::ssize(log_.curve), all);
  }
}

}  // namespace huddle
