// Topic `trajectories`: twelve steps of a strategy on a quadratic problem, in float64 on every
// engine, and in float32 on threads.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "huddle/base/text.h"
#include "huddle/collective/gather.h"
#include "huddle/replica/late_average.h"
#include "huddle/strategy/lanes.h"
#include "huddle/strategy/local_sgd/presets.h"
#include "huddle/strategy/p_reduce/partial_average.h"
#include "huddle/strategy/registry.h"
#include "huddle/strategy/step_loop.h"
#include "tests/support/equal_racks.h"
#include "tests/vectors.h"

namespace huddle {
namespace {

// Schedules that a strategy string can name; `custom` ones are not among them.
std::optional<std::string> scheduled_spec(const nlohmann::json& params) {
  const nlohmann::json& schedule = params.at("schedule");
  const std::string kind = schedule.at("kind");
  std::string rest =
      fmt::format(",form=paper,slots={},payload={}", params.value("momentum_at_sync", "keep"),
                  params.value("payload", "model"));
  for (const char* key : {"hide", "wire"})
    if (params.contains(key)) rest += fmt::format(",{}={}", key, params.at(key).get<std::string>());
  if (kind == "sesgd") return "sesgd:radix=2" + rest;
  if (kind == "shuffle_exchange")
    return fmt::format("sesgd:radix={}", schedule.at("n").get<int>()) + rest;
  if (kind == "ds_sync_four") return "ds_sync:schedule=authors" + rest;
  if (kind == "orthogonal_halves") return "ds_sync:schedule=halves" + rest;
  if (kind == "rotating_representative") return "ds_sync:schedule=rotating" + rest;
  if (kind != "ds_sync_grid") return std::nullopt;
  std::string radices;
  for (const int radix : schedule.at("radices").get<std::vector<int>>())
    radices += fmt::format("{}{}", radices.empty() ? "" : "x", radix);
  return "ds_sync:schedule=grid,radices=" + radices + rest;
}

// Cases with local steps name their parameters as the strategies name their keys, but for the
// optimizer's buffers, which plain SGD does not have.
std::string rounds_spec(const nlohmann::json& input) {
  std::string spec = input.at("strategy");
  char separator = ':';
  for (const auto& [name, value] : input.at("params").items()) {
    const bool names_slots = name == "momentum_at_sync";
    if (names_slots && input.at("momentum") == 0) continue;
    spec += fmt::format("{}{}={}", separator, names_slots ? "slots" : name,
                        value.is_string() ? value.get<std::string>() : value.dump());
    separator = ',';
  }
  return spec;
}

// The strategy string for a case, or nothing when this build has no such strategy.
std::optional<std::string> spec_of(const nlohmann::json& input) {
  const std::string strategy = input.at("strategy");
  if (strategy == "bsp" || strategy.starts_with("p_reduce")) return strategy;
  if (strategy.starts_with("group_schedule")) return scheduled_spec(input.at("params"));
  for (const StrategyEntry& preset : local_sgd_entries())
    if (preset.info.name == strategy) return rounds_spec(input);
  return std::nullopt;
}

// P-Reduce with groups from a script instead of the controller: in each step those workers alone
// step that the script puts into a group. Everybody follows all of the script, so everybody knows
// all iterations.
class ScriptedGroups : public Strategy {
 public:
  ScriptedGroups(const nlohmann::json& params, const StrategyContext& context)
      : script_(params.at("script")),
        rule_(rule_of(params)),
        self_(context.endpoint.self()),
        iterations_(static_cast<std::size_t>(context.endpoint.workers())),
        endpoint_(context.endpoint),
        replica_(context.replica),
        exchange_(context.replica, context.averaging, {}) {}

  Update before_update(Step step) override {
    mine_.reset();
    for (const nlohmann::json& members : script_.at(static_cast<std::size_t>(step.value))) {
      const Assignment given = follow(members);
      if (given.group.contains(self_)) mine_ = given;
    }
    return mine_ ? Update::apply : Update::skip;
  }

  Outcome parameters_updated(Step) override {
    average_partially(endpoint_, exchange_, replica_, *mine_);
    return {.group = mine_->group};
  }

 protected:
  Assignment mine() const { return *mine_; }

 private:
  static WeightRule rule_of(const nlohmann::json& params) {
    if (params.value("weights", "constant") == "constant") return std::nullopt;
    const std::string policy = params.at("policy");
    return DynamicWeights{.policy = policy == "member"    ? GapPolicy::member
                                    : policy == "forward" ? GapPolicy::forward
                                    : policy == "skip"    ? GapPolicy::skip
                                                          : GapPolicy::stalest,
                          .decay = params.at("decay")};
  }

  // The members, in the order of arrival, step and average.
  Assignment follow(const std::vector<std::size_t>& members) {
    FormedGroup formed{.id = {groups_++}};
    for (const std::size_t member : members) {
      formed.members.push_back({static_cast<int>(member)});
      formed.iterations.push_back(++iterations_[member]);
    }
    const Assignment given = assign(formed, rule_);
    for (const std::size_t member : members) iterations_[member] = given.iteration;
    return given;
  }

  const nlohmann::json script_;
  const WeightRule rule_;
  const WorkerId self_;
  std::vector<std::int64_t> iterations_;  // By worker.
  std::int64_t groups_ = 0;
  std::optional<Assignment> mine_;
  Endpoint& endpoint_;
  const Replica& replica_;
  ReplicaExchange exchange_;
};

// The same with `hide=step`.
class HiddenScriptedGroups final : public ScriptedGroups {
 public:
  HiddenScriptedGroups(const nlohmann::json& params, const StrategyContext& context)
      : ScriptedGroups(params, context),
        replica_(context.replica),
        models_(context.endpoint, context.meter, context.replica,
                {.how = context.averaging, .lane = kScheduleLane}) {}

  Outcome parameters_updated(Step) override {
    models_.correct();
    models_.launch([this, given = mine()](Endpoint& beside) {
      return average_partially(beside, models_.travelling(), replica_, given);
    });
    return {.group = mine().group};
  }

 private:
  const Replica& replica_;
  LateAverage models_;
};

std::unique_ptr<Strategy> strategy_of(const nlohmann::json& input, const std::string& spec,
                                      const StrategyContext& context) {
  if (input.at("strategy") == "p_reduce_hidden")
    return std::make_unique<HiddenScriptedGroups>(input.at("params"), context);
  if (input.at("params").contains("script"))
    return std::make_unique<ScriptedGroups>(input.at("params"), context);
  return make_strategy(spec, context);
}

at::Tensor tensor_of(const nlohmann::json& values, at::ScalarType type) {
  return at::tensor(values.get<std::vector<double>>(), at::kDouble).to(type);
}

constexpr Deadline kDeadline{60};

// One case, on tensors of one type.
struct Trial {
  const nlohmann::json& problem;
  const nlohmann::json& input;
  const nlohmann::json& expected;  // [t][i]: worker i's parameters after step t+1.
  std::string spec;
  at::ScalarType type = at::kDouble;
  double tolerance = 1e-10;
};

// This worker's parameters after each step, a row for each.
at::Tensor steps_of(const Trial& trial, Endpoint& endpoint) {
  const std::vector<double> rates = trial.input.at("lr");
  const auto self = static_cast<std::size_t>(endpoint.self().value);
  const at::Tensor curvature = tensor_of(trial.problem.at("A").at(self), trial.type);
  const at::Tensor optimum = tensor_of(trial.problem.at("c").at(self), trial.type);
  const at::Tensor x = tensor_of(trial.problem.at("x0"), trial.type);
  const at::Tensor gradients = at::zeros_like(x);
  const UpdateRule rule({.learning_rate = rates.front(), .momentum = trial.input.at("momentum")});
  Replica replica(x, gradients, at::zeros({0}, x.options()), {x.numel()}, rule);
  const nlohmann::json schedule =
      trial.input.at("params").value("schedule", nlohmann::json::object());
  const Averaging averaging{
      .topology = shared_racks(endpoint.workers(), schedule.value("per_rack", 0)),
      .deadline = kDeadline};
  StepLoop loop(
      endpoint, replica,
      [&](const StrategyContext& context) { return strategy_of(trial.input, trial.spec, context); },
      {.averaging = averaging});
  std::vector<at::Tensor> steps;
  for (const double rate : rates) {
    replica.set_learning_rate(rate);
    loop.begin();
    gradients.copy_(curvature * (x - optimum));
    loop.replay_backward();
    loop.end();
    steps.push_back(x.to(at::kDouble).clone());
  }
  loop.finish();
  return at::stack(steps);
}

// steps[i]: worker i's.
std::string difference(const Trial& trial, const std::vector<at::Tensor>& steps) {
  for (std::int64_t t = 0; t < steps.front().size(0); ++t)
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const at::Tensor expected =
          tensor_of(trial.expected.at(static_cast<std::size_t>(t)).at(i), at::kDouble);
      const double apart = (steps[i][t] - expected).abs().max().item<double>();
      if (!(apart <= trial.tolerance))
        return fmt::format("worker {} after step {} is {} off", i, t + 1, apart);
    }
  return "";
}

// What worker 0 finds, to whom all send their steps.
std::string judged(const Trial& trial, const MakeEngine& make_engine) {
  const Cluster cluster{.workers = trial.problem.at("N")};
  const Group everybody = Group::everyone(cluster.workers);
  std::string found = "worker 0 has not judged";
  make_engine(cluster)->run([&](Endpoint& endpoint) {
    const std::vector<at::Tensor> steps =
        gather(endpoint, everybody, {0}, steps_of(trial, endpoint),
               {.kind = Kind::control, .lane = kMeasureLane}, kDeadline);
    if (endpoint.self() == WorkerId{0}) found = difference(trial, steps);
  });
  return found;
}

}  // namespace

Verdict run_trajectory(const nlohmann::json& file, const nlohmann::json& test,
                       std::span<const VectorEngine> engines) {
  const nlohmann::json& input = test.at("input");
  const std::optional<std::string> spec = spec_of(input);
  if (!spec) return std::nullopt;
  const Trial in_double{.problem = file.at("problems").at(input.at("problem").get<std::string>()),
                        .input = input,
                        .expected = test.at("expect").at("x"),
                        .spec = *spec};
  Trial in_float = in_double;
  in_float.type = at::kFloat;
  in_float.tolerance = 1e-5;
  std::vector<std::string> found;
  for (const VectorEngine& engine : engines)
    for (const Trial& trial : {in_double, in_float}) {
      if (trial.type == at::kFloat && engine.name != "threads") continue;
      const std::string words =
          engine.try_out(trial.problem.at("N"),
                         [&](const MakeEngine& make_engine) { return judged(trial, make_engine); });
      if (!words.empty())
        found.push_back(fmt::format("{}, {}: {}", engine.name, c10::toString(trial.type), words));
    }
  return joined(found, "; ");
}

}  // namespace huddle
