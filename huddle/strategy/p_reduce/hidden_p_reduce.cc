#include <algorithm>

#include "huddle/base/error.h"
#include "huddle/replica/late_average.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/p_reduce/controller_service.h"
#include "huddle/strategy/p_reduce/p_reduce.h"
#include "huddle/strategy/p_reduce/partial_average.h"

namespace huddle {
namespace {

class HiddenPReduce final : public Strategy {
 public:
  HiddenPReduce(const PReduceOptions& options, const StrategyContext& context)
      : self_(context.endpoint.self()),
        replica_(context.replica),
        steps_asked_(context.steps),
        controller_(options.controller, context),
        models_(context.endpoint, context.meter, context.replica,
                {.how = averaging_by(options.algorithm, context, options.wire),
                 .lane = kScheduleLane}) {
    check(!options.controller.weights, "hidden groups weigh all members alike");
    context.replica.cut(1);
  }

  // Everybody takes one step more than it reports, while its last group meets.
  void start() override {
    if (!is_resumed_) models_.start();
    given_.progress = static_cast<double>(steps_done_);
    reports_ = steps_asked_ - steps_done_ > 1;
    controller_.start(steps_asked_ - 1, steps_done_);
  }

  Outcome parameters_updated(Step) override {
    models_.correct();
    replica_.set_rate_factor(given_.rate_factor);
    const bool has_met = given_.group.size() > 0;
    Outcome outcome{.group = has_met ? given_.group : Group({self_}),
                    .progress = given_.progress + 1};
    if (has_met) outcome.meeting = given_.id.value;
    outcome.go_on = !given_.last && reports_;
    iteration_ = std::max(iteration_, given_.iteration) + 1;
    steps_done_ = static_cast<std::int64_t>(outcome.progress);
    if (outcome.go_on) report();
    return outcome;
  }

  // Nothing was learnt, but the worker's step counts, and its group may need it.
  Outcome skipped(Step step) override { return parameters_updated(step); }

  // The controller's home stays until nobody needs the controller any more.
  void finish() override {
    models_.correct();
    controller_.leave();
    steps_done_ = std::max(steps_done_, steps_asked_);
  }

  std::map<std::string, double> figures() const override { return controller_.figures(); }

  void save(Archive& archive) const override {
    archive.tensors.merge(models_.tensors());
    archive.numbers["p_reduce_iteration"] = iteration_;
    archive.numbers["p_reduce_steps"] = steps_done_;
  }
  void load(const Archive& archive) override {
    check(!controller_.has_started(), "p_reduce is resumed before its first step, not later");
    models_.load(archive.tensors);
    iteration_ = archive.numbers.at("p_reduce_iteration");
    steps_done_ = archive.numbers.at("p_reduce_steps");
    is_resumed_ = true;
  }

 private:
  // The worker goes on; a program beside it waits for a group and averages what was sent.
  void report() {
    models_.launch([this, ready = Request{.kind = Request::Kind::ready, .iteration = iteration_}](
                       Endpoint& beside) { return meet(beside, ready); });
  }

  Exchange meet(Endpoint& beside, Request request) {
    const Time begin = beside.now();
    while (true) {
      given_ = controller_.ask(beside, request);
      try {
        Exchange exchange = average_partially(beside, models_.travelling(), replica_, given_);
        exchange.begin = begin;
        return exchange;
      } catch (const PeerLost& lost) {
        request = {.kind = Request::Kind::abort, .group = given_.id, .lost = lost.peer()};
      }
    }
  }

  const WorkerId self_;
  Replica& replica_;
  const std::int64_t steps_asked_;
  bool is_resumed_ = false;
  bool reports_ = true;           // More than one step of each is left.
  std::int64_t iteration_ = 0;    // k.
  std::int64_t steps_done_ = 0;   // Of the run: all workers' steps over their number.
  Assignment given_;              // The latest; the program's while it runs.
  ControllerService controller_;  // These two last: what is under way ends before what it uses.
  LateAverage models_;
};

}  // namespace

std::unique_ptr<Strategy> make_hidden_p_reduce(const PReduceOptions& options,
                                               const StrategyContext& context) {
  return std::make_unique<HiddenPReduce>(options, context);
}

}  // namespace huddle
