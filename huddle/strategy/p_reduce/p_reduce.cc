#include "huddle/strategy/p_reduce/p_reduce.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/p_reduce/controller.h"
#include "huddle/strategy/p_reduce/partial_average.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

// 0 stands for `auto`.
int window_of(const Options& options) {
  const std::string& text = options.text("window");
  if (text == "auto") return 0;
  int window = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), window);
  if (error != std::errc() || end != text.data() + text.size() || window < 1)
    throw UsageError(concat("strategy 'p_reduce': window='", text,
                            "' is neither a number of groups, 1 or more, nor 'auto'."));
  return window;
}

GroupFormerOptions former_options(const Options& options, int workers) {
  return {.workers = workers,
          .group = static_cast<int>(options.integer("group")),
          .filter = options.text("filter") == "on" ? GroupFormerOptions::Filter::on
                                                   : GroupFormerOptions::Filter::off,
          .window = window_of(options)};
}

GapPolicy policy_of(const std::string& name) {
  return name == "member"    ? GapPolicy::member
         : name == "forward" ? GapPolicy::forward
         : name == "skip"    ? GapPolicy::skip
                             : GapPolicy::stalest;
}

WeightRule weight_rule(const Options& options) {
  if (options.text("weights") == "constant") return std::nullopt;
  return DynamicWeights{.policy = policy_of(options.text("policy")),
                        .decay = options.number("decay")};
}

Averaging averaging(const Options& options, const StrategyContext& context) {
  Averaging how = context.averaging;
  how.algorithm = parse_algorithm(options.text("algorithm"));
  return how;
}

class PReduce final : public Strategy {
 public:
  PReduce(const Options& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        meter_(context.meter),
        deadline_(context.averaging.deadline),
        steps_asked_(context.steps),
        controller_options_{
            .former = former_options(options, context.endpoint.workers()),
            .weights = weight_rule(options),
        },
        average_(context.endpoint, context.replica, averaging(options, context)) {
    context.replica.cut(1);
  }

  // Not earlier: only now is it known whether the run is resumed.
  void before_forward(Step) override { start_controller(); }

  Outcome parameters_updated(Step) override {
    const Time from = endpoint_.now();
    ++iteration_;
    Request request{.kind = Request::Kind::ready, .iteration = iteration_};
    while (true) {
      const Assignment given = ask(request);
      const std::optional<WorkerId> lost = average(given, from);
      if (!lost) {
        iteration_ = given.iteration;
        steps_done_ = static_cast<std::int64_t>(given.progress);
        return {.group = given.group,
                .meeting = given.id.value,
                .progress = given.progress,
                .go_on = !given.last};
      }
      request = {.kind = Request::Kind::abort, .group = given.id, .lost = *lost};
    }
  }

  // Nothing was learnt, but the worker's step counts, and its group may need it.
  Outcome skipped(Step step) override { return parameters_updated(step); }

  // The controller's worker stays until nobody needs the controller any more.
  void finish() override {
    start_controller();
    Request request{.kind = Request::Kind::leave};
    Pending leaving = send(request);
    try {
      leaving.wait(deadline_);
      service_.wait(deadline_);
    } catch (const PeerLost& lost) {
      throw without_controller(lost);
    }
    steps_done_ = std::max(steps_done_, steps_asked_);
  }

  std::map<std::string, double> figures() const override {
    if (!controller_ || service_.under_way()) return {};
    return controller_->figures();
  }

  void save(Archive& archive) const override {
    archive.numbers["p_reduce_iteration"] = iteration_;
    archive.numbers["p_reduce_steps"] = steps_done_;
  }
  void load(const Archive& archive) override {
    check(!controller_, "p_reduce is resumed before its first step, not later");
    iteration_ = archive.numbers.at("p_reduce_iteration");
    steps_done_ = archive.numbers.at("p_reduce_steps");
  }

 private:
  void start_controller() {
    if (endpoint_.self() != kControllersWorker || controller_) return;
    const std::int64_t workers = endpoint_.workers();
    controller_options_.steps_before = workers * steps_done_;
    controller_options_.former.budget =
        std::max<std::int64_t>(1, workers * (steps_asked_ - steps_done_));
    controller_ = std::make_unique<Controller>(controller_options_);
    service_ = endpoint_.spawn(kControllerLane, [controller = controller_.get()](Endpoint& beside) {
      controller->serve(beside);
    });
  }

  // Names and numbers the request.
  Pending send(Request& request) {
    request.who = {endpoint_.self()};
    request.number = requests_++;
    return endpoint_.send(kControllersWorker, request_tag(), to_message(request));
  }

  Assignment ask(Request& request) {
    const at::Tensor answer = empty_answer(controller_options_.former.group);
    Pending receive = endpoint_.receive(kControllersWorker, answer_tag(requests_), answer);
    Pending sent = send(request);
    try {
      await(receive);
    } catch (const PeerLost& lost) {
      throw without_controller(lost);
    }
    const Assignment given = to_assignment(answer);
    if (given.group.size() == 0)
      throw TransportError(concat("worker ", endpoint_.self().value,
                                  " was given up by the controller, because a peer lost touch with "
                                  "it: look at the links between workers, then start again"));
    return given;
  }

  // Beside the controller itself, a worker notices when that fails; the others notice its worker's
  // end.
  void await(Pending& answer) {
    if (service_.under_way()) {
      Pending* const both[] = {&service_, &answer};
      if (wait_any(both, deadline_) == 0) {
        service_.wait(deadline_);
        throw LogicError("the controller has ended while its worker still waits for a group");
      }
    }
    answer.wait(deadline_);
  }

  static PeerLost without_controller(const PeerLost& lost) {
    return PeerLost(lost.peer(), concat(lost.what(), "; worker ", kControllersWorker.value,
                                        " ran the controller, without which p_reduce cannot go on: "
                                        "start again"));
  }

  // Who was lost, if somebody was; the model is then as it was. Waiting for the group counts as
  // waiting, like waiting for the members' first bytes.
  std::optional<WorkerId> average(const Assignment& given, Time from) {
    try {
      Exchange exchange = average_.run(given);
      exchange.begin = from;
      meter_.blocked(exchange);
      return std::nullopt;
    } catch (const PeerLost& lost) {
      return lost.peer();
    }
  }

  Endpoint& endpoint_;
  Meter& meter_;
  const Deadline deadline_;
  const std::int64_t steps_asked_;
  ControllerOptions controller_options_;
  PartialAverage average_;
  std::int64_t iteration_ = 0;   // k.
  std::int64_t steps_done_ = 0;  // Of the run: all workers' steps over their number.
  std::int64_t requests_ = 0;
  std::unique_ptr<Controller> controller_;  // On one worker only.
  Pending service_;                         // Last: it ends before the controller does.
};

}  // namespace

SpecInfo p_reduce_info() {
  return {
      .name = "p_reduce",
      .summary = "average with whoever is ready: the first few form a group, nobody waits for all",
      .keys = {{.name = "group",
                .fallback = "3",
                .help = "how many workers average together",
                .minimum = 2,
                .maximum = 1 << 20},
               choice_key("weights", "dynamic",
                          "dynamic: models that are behind count less; constant: all count alike",
                          {"dynamic", "constant"}),
               choice_key("policy", "member",
                          "of dynamic weights: who gets the share of ages that no member has",
                          {"member", "forward", "skip", "stalest"}),
               {.name = "decay",
                .type = KeyInfo::Type::number,
                .fallback = "0.9",
                .help = "of dynamic weights: what a model counts for each step that it is behind",
                .maximum = 1,
                .ends = KeyInfo::Ends::excluded},
               choice_key("filter", "on", "on: groups are changed where they would isolate workers",
                          {"on", "off"}),
               {.name = "window",
                .type = KeyInfo::Type::text,
                .fallback = "auto",
                .help = "of the filter: how many groups must connect all workers, or auto"},
               choice_key("algorithm", "default",
                          "how a group averages; default: pair for 2, halving_doubling up to 128 "
                          "kB, else ring",
                          {"default", "ring", "halving_doubling", "direct"})},
  };
}

void check_p_reduce(const Options& options, const StrategySetting& setting) {
  const GroupFormer checked(former_options(options, setting.cluster.workers));
  if (options.text("weights") == "constant")
    for (const char* key : {"policy", "decay"})
      refuse_idle(options, key,
                  "weights=constant lets all members count alike; use weights=dynamic");
  if (options.text("filter") == "off")
    refuse_idle(options, "window", "filter=off looks at no groups of the past; use filter=on");
}

std::unique_ptr<Strategy> make_p_reduce(const Options& options, const StrategyContext& context) {
  if (context.steps < 1)
    throw UsageError(
        "p_reduce ends a run by the steps of all workers together, so it must know how many each "
        "is to take: set AttachOptions::steps, for example to 1000.");
  return std::make_unique<PReduce>(options, context);
}

}  // namespace huddle
