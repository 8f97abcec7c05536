#include "huddle/train/worker_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "huddle/record/time_parts.h"

namespace huddle {
namespace {

constexpr double kUntold = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::deque<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

// A point is as old as the last of the models that it is the mean of.
std::vector<CurvePoint> curve_of(const std::vector<WorkerLog>& logs) {
  std::vector<CurvePoint> curve = logs.front().curve;
  for (std::size_t i = 0; i < curve.size(); ++i)
    for (const WorkerLog& log : logs)
      if (i < log.snapshot_times.size())
        curve[i].time = std::max(curve[i].time, log.snapshot_times[i]);
  return curve;
}

}  // namespace

std::vector<Blocked> WorkerLog::on_the_wire(std::vector<Blocked> blocked) const {
  for (Blocked& each : blocked)
    for (Exchange& exchange : each.exchanges)
      exchange.bytes_sent = std::llround(static_cast<double>(exchange.bytes_sent) * payload_scale);
  return blocked;
}

std::vector<Blocked> WorkerLog::add_traffic(Meter::Total traffic) {
  bytes_sent += static_cast<double>(traffic.bytes_sent) * payload_scale;
  time += traffic.time;
  seconds += traffic.time.wait + traffic.time.exchange;
  return on_the_wire(std::move(traffic.blocked));
}

StepRecord WorkerLog::add(WorkerId worker, StepTaken taken, const std::optional<double>& loss) {
  const Seconds passed = taken.end - taken.begin;
  const double bytes = static_cast<double>(taken.traffic.bytes_sent) * payload_scale;
  seconds += passed;
  StepRecord line{.worker = worker,
                  .step = taken.step,
                  .progress = taken.outcome.progress,
                  .end = seconds,
                  .loss = loss.value_or(kUntold),
                  .learning_rate = taken.learning_rate,
                  .time = taken.traffic.time,
                  .bytes_sent = std::llround(bytes),
                  .messages_sent = taken.traffic.messages_sent,
                  .group = std::move(taken.outcome.group),
                  .meeting = taken.outcome.meeting,
                  .began = taken.begin,
                  .ended = taken.end,
                  .blocked = on_the_wire(std::move(taken.traffic.blocked))};
  line.time.compute = std::max(0.0, passed - line.time.wait - line.time.exchange);
  steps_done = taken.step.value + 1;
  rate_factors += taken.rate_factor;
  bytes_sent += bytes;
  time += line.time;
  tells_loss = tells_loss || loss;
  if (loss) last_losses.push_back(*loss);
  if (last_losses.size() > kStepsOfLoss) last_losses.pop_front();
  return line;
}

void WorkerLog::count(const StepRecord& record) {
  if (steps_done == 0) first_step = record.step.value;
  rate_factors += 1;  // Its rate is in the record, and not by what it was scaled.
  seconds = record.end;
  steps_done = record.step.value + 1;
  bytes_sent += static_cast<double>(record.bytes_sent);
  time += record.time;
  if (std::isnan(record.loss)) return;  // Nobody said what it was.
  tells_loss = true;
  last_losses.push_back(record.loss);
  if (last_losses.size() > kStepsOfLoss) last_losses.pop_front();
}

Summary summarise(const std::vector<WorkerLog>& logs) {
  Summary summary;
  summary.workers = static_cast<int>(logs.size());
  summary.strategy = logs.front().strategy;
  summary.settled = logs.front().settled;
  summary.model = logs.front().model;
  summary.optimizer = logs.front().optimizer;
  summary.steps = logs.front().steps;
  summary.steps_done = logs.front().steps_done;
  summary.parameters = logs.front().parameters;
  summary.consensus = logs.front().consensus;
  summary.swa = logs.front().swa;
  summary.others = logs.front().others;
  summary.curve = curve_of(logs);
  summary.drift = logs.front().drift;
  summary.warnings = logs.front().warnings;
  int reporting = 0;
  std::int64_t steps = 0;  // Of all workers, since the very beginning.
  for (const WorkerLog& log : logs) {
    summary.steps_done = std::min(summary.steps_done, log.steps_done);
    steps += log.steps_done;
    summary.steps_taken += log.steps_done - log.first_step;
    summary.seconds = std::max(summary.seconds, log.seconds);
    summary.time.push_back(log.time);
    const std::int64_t taken = log.steps_done - log.first_step;
    summary.steps_by_worker.push_back(taken);
    summary.rate_factor_by_worker.push_back(
        taken > 0 ? log.rate_factors / static_cast<double>(taken) : 1);
    summary.bytes_sent_per_worker += log.bytes_sent / static_cast<double>(logs.size());
    summary.figures.insert(log.figures.begin(), log.figures.end());
    if (log.own) summary.by_worker.push_back(*log.own);
    if (log.last_losses.empty()) continue;
    summary.loss += mean_of(log.last_losses);
    ++reporting;
  }
  if (reporting > 0)
    summary.loss /= reporting;
  else if (summary.steps_taken > 0)
    summary.loss = kUntold;
  if (logs.front().has_own_pace) summary.steps_done = steps / summary.workers;
  return summary;
}

}  // namespace huddle
