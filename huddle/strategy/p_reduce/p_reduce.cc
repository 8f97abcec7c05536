#include "huddle/strategy/p_reduce/p_reduce.h"

#include <algorithm>
#include <optional>

#include "huddle/base/error.h"
#include "huddle/strategy/p_reduce/controller_service.h"
#include "huddle/strategy/p_reduce/partial_average.h"

namespace huddle {
namespace {

class PReduce final : public Strategy {
 public:
  PReduce(const PReduceOptions& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        meter_(context.meter),
        steps_asked_(context.steps),
        replica_(context.replica),
        exchange_(context.replica, averaging_by(options.algorithm, context, options.wire), {}),
        controller_(options.controller, context) {
    context.replica.cut(1);
  }

  void start() override { controller_.start(steps_asked_, steps_done_); }

  Outcome parameters_updated(Step) override {
    const Time from = endpoint_.now();
    ++iteration_;
    Request request{.kind = Request::Kind::ready, .iteration = iteration_};
    while (true) {
      const Assignment given = controller_.ask(request);
      const std::optional<WorkerId> lost = average(given, from);
      if (!lost) return outcome(given);
      request = {.kind = Request::Kind::abort, .group = given.id, .lost = *lost};
    }
  }

  // Nothing was learnt, but the worker's step counts, and its group may need it.
  Outcome skipped(Step step) override { return parameters_updated(step); }

  // The controller's home stays until nobody needs the controller any more.
  void finish() override {
    controller_.leave();
    steps_done_ = std::max(steps_done_, steps_asked_);
  }

  std::map<std::string, double> figures() const override { return controller_.figures(); }

  void save(Archive& archive) const override {
    archive.numbers["p_reduce_iteration"] = iteration_;
    archive.numbers["p_reduce_steps"] = steps_done_;
    archive.tensors.merge(exchange_.tensors());
  }
  void load(const Archive& archive) override {
    check(!controller_.has_started(), "p_reduce is resumed before its first step, not later");
    exchange_.load(archive.tensors);
    iteration_ = archive.numbers.at("p_reduce_iteration");
    steps_done_ = archive.numbers.at("p_reduce_steps");
  }

 private:
  // x_i <- sum of w_j x_j. Who was lost, if somebody was; the model is then as it was. Waiting for
  // the group counts as waiting, like waiting for the members' first bytes.
  std::optional<WorkerId> average(const Assignment& given, Time from) {
    try {
      Exchange exchange = average_partially(endpoint_, exchange_, replica_, given);
      exchange.begin = from;
      meter_.blocked(exchange);
      return std::nullopt;
    } catch (const PeerLost& lost) {
      return lost.peer();
    }
  }

  // k_i <- max of k_j.
  Outcome outcome(const Assignment& given) {
    iteration_ = given.iteration;
    replica_.set_rate_factor(given.rate_factor);
    steps_done_ = static_cast<std::int64_t>(given.progress);
    return {.group = given.group,
            .meeting = given.id.value,
            .progress = given.progress,
            .go_on = !given.last};
  }

  Endpoint& endpoint_;
  Meter& meter_;
  const std::int64_t steps_asked_;
  Replica& replica_;
  ReplicaExchange exchange_;
  std::int64_t iteration_ = 0;    // k.
  std::int64_t steps_done_ = 0;   // Of the run: all workers' steps over their number.
  ControllerService controller_;  // Last: it ends before what it uses.
};

}  // namespace

std::unique_ptr<Strategy> make_p_reduce(const PReduceOptions& options,
                                        const StrategyContext& context) {
  return std::make_unique<PReduce>(options, context);
}

}  // namespace huddle
