#include "huddle/api/run_outputs.h"

#include <span>
#include <vector>

#include "huddle/cluster/network.h"

namespace huddle {

LinkLoadObserver RunOutputs::link_loads() {
  if (places_.timeline.empty()) return {};
  return [this](std::span<const LinkLoad> loads) { timeline_->add(loads); };
}

void RunOutputs::open(const Engine& engine, const std::string& title, TrainOptions& run) {
  if (!places_.folder.empty()) files_ = std::make_unique<RunFiles>(places_.folder);
  if (places_.timeline.empty()) return;
  TimelineSubject subject{.strategy = title,
                          .engine = engine.spec,
                          .version = HUDDLE_VERSION,
                          .workers = engine.cluster.workers,
                          .is_virtual = is_simulated(engine.spec)};
  const Network network(engine.cluster);
  if (subject.is_virtual)
    for (const Network::NamedLink& link : network.links()) subject.links.push_back(link.name);
  timeline_ = std::make_unique<TimelineFile>(places_.timeline, subject);
  run.keeps_blocked = true;
  run.finished = [this](WorkerId worker, const std::vector<Blocked>& blocked) {
    timeline_->add_finish(worker, blocked);
  };
}

void RunOutputs::add(const StepRecord& record) {
  if (files_) files_->append(record);
  if (timeline_) timeline_->add(record);
}

void RunOutputs::close(const Summary& summary) {
  if (timeline_) timeline_->close();  // First: the summary says that all is there.
  if (!files_) return;
  files_->write_summary(summary, HUDDLE_VERSION);
  files_->close();
}

}  // namespace huddle
