#include "huddle/strategy/local_sgd/local_steps.h"

#include <algorithm>
#include <optional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/schedule/schedule.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/local_sgd/boundary.h"

namespace huddle {
namespace {

// Rows and columns in turn.
Schedule grid_of(const Cluster& cluster) {
  return make_schedule({.kind = ScheduleOptions::Kind::grid}, cluster.workers);
}

Cluster cluster_of(const StrategyContext& context) {
  Cluster cluster;
  cluster.workers = context.endpoint.workers();
  cluster.topology = *context.averaging.topology;
  return cluster;
}

Group rack_of(WorkerId worker, const Cluster& cluster) {
  std::vector<WorkerId> members;
  for (const WorkerId each : Group::everyone(cluster.workers))
    if (cluster.topology.rack_of(each) == cluster.topology.rack_of(worker)) members.push_back(each);
  return Group(members);
}

class LocalSteps final : public Strategy {
 public:
  LocalSteps(const Composition& parts, const StrategyContext& context)
      : self_(context.endpoint.self()),
        tau_(parts.tau),
        first_(context.first_step),
        everyone_(Group::everyone(context.endpoint.workers())),
        rack_(parts.inner == Inner::rack ? rack_of(self_, cluster_of(context)) : Group({self_})),
        boundary_(parts, context),
        inner_(context, {.buckets = 0, .wire = parts.wire}) {
    if (parts.scope == Scope::grid) grid_ = grid_of(cluster_of(context));
  }

  // Only now does everybody surely hold the same model: it may have been handed round after this
  // was made, or trained synchronously.
  void before_forward(Step step) override {
    if (step == first_) boundary_.start();
  }

  void gradients_ready(Step step, const Bucket& bucket) override {
    if (rack_.size() > 1) inner_.ready(step, rack_, bucket);
  }

  Update before_update(Step step) override {
    if (rack_.size() > 1) inner_.complete(step, rack_);
    return Update::apply;
  }

  Outcome parameters_updated(Step step) override {
    Outcome outcome{.group = rack_, .progress = static_cast<double>(step.value + 1)};
    const std::int64_t local_steps = step.value + 1 - first_.value;
    if (local_steps % tau_ != 0) return outcome;
    const std::int64_t number = local_steps / tau_ - 1;
    outcome.group = grid_ ? grid_->group_of(self_, Step{number}) : everyone_;
    boundary_.run(number, outcome.group);
    return outcome;
  }

  Outcome skipped(Step step) override { return parameters_updated(step); }

  void finish() override { boundary_.finish(); }

  std::map<std::string, at::Tensor> models() const override {
    const at::Tensor anchor = boundary_.anchor();
    if (!anchor.defined()) return {};
    return {{"anchor", anchor}};
  }

  void save(Archive& archive) const override { boundary_.save(archive); }
  void load(const Archive& archive) override { boundary_.load(archive); }

 private:
  const WorkerId self_;
  const std::int64_t tau_;
  const Step first_;
  const Group everyone_;
  const Group rack_;  // Who averages gradients in every step; this worker alone where nobody does.
  std::optional<Schedule> grid_;
  Boundary boundary_;
  GradientAveraging inner_;
};

void check_inner(const Cluster& cluster) {
  if (cluster.topology.rack_count() < 2)
    throw UsageError(
        "inner=rack needs the workers in two racks or more, and these are in one: say which are "
        "near one another (--racks 2x4), or leave inner out.");
  const std::vector<int> sizes = cluster.topology.rack_sizes();
  if (*std::min_element(sizes.begin(), sizes.end()) < 2)
    throw UsageError(concat("inner=rack needs racks of two workers or more, and these have ",
                            joined(sizes, '+'),
                            ": leave inner out, or use --racks with larger racks."));
}

// Throws UsageError unless the algorithm fits whoever meets at boundaries.
void check_groups(const Composition& parts, const Cluster& cluster) {
  if (parts.scope == Scope::everyone)
    return check_algorithm(parts.algorithm, Group::everyone(cluster.workers), cluster);
  if (cluster.workers < 3)
    throw UsageError(concat("scope=grid needs at least 3 workers, and there are ", cluster.workers,
                            ": use scope=all."));
  const Schedule grid = grid_of(cluster);
  for (int phase = 0; phase < grid.period(); ++phase)
    for (const Group& group : grid.phase(phase)) check_algorithm(parts.algorithm, group, cluster);
}

}  // namespace

void check_local_steps(const Composition& parts, const StrategySetting& setting) {
  const std::string reason = why_undefined(parts);
  if (!reason.empty()) throw UsageError(reason);
  if (parts.inner == Inner::rack) check_inner(setting.cluster);
  check_groups(parts, setting.cluster);
}

std::unique_ptr<Strategy> make_local_steps(const Composition& parts,
                                           const StrategyContext& context) {
  return std::make_unique<LocalSteps>(parts, context);
}

}  // namespace huddle
