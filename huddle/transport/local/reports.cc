#include "huddle/transport/local/reports.h"

#include <algorithm>

namespace huddle {
namespace {

std::size_t index_of(WorkerId worker) { return static_cast<std::size_t>(worker.value); }

}  // namespace

std::shared_ptr<Journey> Reports::begin(Channels::Key channel, WorkerId sender, Time now) {
  auto& [journeys, look_again] = under_way_[index_of(sender)];
  if (journeys.size() >= look_again) {
    std::erase_if(journeys, [&](const std::shared_ptr<Journey>& each) {
      return each->end != Journey::kUnknown && each->end <= now;
    });
    look_again = std::max<std::size_t>(16, 2 * journeys.size());
  }
  return journeys.emplace_back(std::make_shared<Journey>(Journey{channel}));
}

std::optional<Time> Reports::all_arrived(Channels::Key channel, WorkerId sender) const {
  Time latest = 0;
  for (const std::shared_ptr<Journey>& each : under_way_[index_of(sender)].journeys) {
    if (each->channel != channel) continue;
    if (each->end == Journey::kUnknown) return std::nullopt;
    latest = std::max(latest, each->end);
  }
  return latest;
}

Reports::Told& Reports::told_in(Channels::Key channel) {
  Told& told = told_[channel];
  told.workers.resize(workers_);
  return told;
}

std::optional<Time> Reports::take(Channels::Key channel, WorkerId receiver, WorkerId worker) {
  Told& told = told_in(channel);
  if (worker == receiver || told.workers[index_of(worker)]) return std::nullopt;
  const std::optional<Time> arrived = all_arrived(channel, worker);
  if (arrived) told.workers[index_of(worker)] = true;
  return arrived;
}

std::optional<Reports::End> Reports::take_first(Channels::Key channel, WorkerId receiver) {
  if (ended_.empty()) return std::nullopt;
  Told& told = told_in(channel);
  const auto is_told = [&](std::size_t end) {
    return ended_[end] == receiver || told.workers[index_of(ended_[end])];
  };
  while (told.all_before < ended_.size() && is_told(told.all_before)) ++told.all_before;
  std::optional<End> first;
  for (std::size_t end = told.all_before; end < ended_.size(); ++end) {
    if (is_told(end)) continue;
    const std::optional<Time> arrived = all_arrived(channel, ended_[end]);
    if (arrived && (!first || *arrived < first->known_at)) first = End{ended_[end], *arrived};
  }
  if (first) told.workers[index_of(first->worker)] = true;
  return first;
}

}  // namespace huddle
