// Topics `group_former` and `staleness`: the groups of P-Reduce event for event, and their weights.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/strategy/p_reduce/staleness.h"
#include "tests/vectors.h"

namespace huddle {
namespace {

using nlohmann::json;

// Whether two values have the same form and the same numbers: integers exactly, others to 1e-12.
bool near(const json& actual, const json& expected) {
  if (actual.is_number_float() && expected.is_number())
    return std::abs(actual.get<double>() - expected.get<double>()) <= 1e-12;
  if (!actual.is_structured() || actual.size() != expected.size()) return actual == expected;
  if (actual.is_array())
    return std::equal(actual.begin(), actual.end(), expected.begin(), expected.end(), near);
  const auto agrees = [&](const auto& item) {
    return expected.contains(item.key()) && near(item.value(), expected.at(item.key()));
  };
  return std::ranges::all_of(actual.items(), agrees);
}

// What `compute` makes of the input against what is expected. Where the input must be refused:
// whether it is, as a bad option or as an event that makes no sense.
Verdict compare(const json& test, const std::function<json(const json&)>& compute) {
  const json& expect = test.at("expect");
  const bool must_fail = expect.contains("error");
  json actual;
  try {
    actual = compute(test.at("input"));
  } catch (const UsageError& error) {
    return must_fail ? "" : error.what();
  } catch (const LogicError& error) {
    return must_fail ? "" : error.what();
  }
  if (must_fail) return "was accepted, but must be refused";
  for (const auto& [name, expected] : expect.items())
    if (!actual.contains(name) || !near(actual.at(name), expected))
      return fmt::format("{} is {}, expected {}", name, actual.value(name, json()).dump(),
                         expected.dump());
  return "";
}

// A window of 0 stands for the filter switched off.
GroupFormerOptions options_of(const json& input) {
  const int window = input.at("T");
  return {.workers = input.at("N"),
          .group = input.at("P"),
          .filter = window == 0 ? GroupFormerOptions::Filter::off : GroupFormerOptions::Filter::on,
          .window = window};
}

json entry_of(const FormedGroup& group, int event) {
  json members = json::array();
  for (const WorkerId member : group.members) members.push_back(member.value);
  return {{"event", event},
          {"members", members},
          {"iterations", group.iterations},
          {"bridge", group.bridge}};
}

// All that the former does with the events, in the form of `expect`.
json run_former(const json& input) {
  GroupFormer former(options_of(input));
  json groups = json::array();
  json held_after = json::array();
  int event = 0;
  for (const json& report : input.at("events")) {
    const WorkerId worker{report.at(0)};
    for (const FormedGroup& group : former.ready({worker}, report.at(1)))
      groups.push_back(entry_of(group, event));
    if (former.holding()) held_after.push_back(event);
    ++event;
  }
  json queue = json::array();
  for (const Waiting& each : former.waiting())
    queue.push_back(json::array({each.worker.value, each.iteration}));
  return {{"groups", groups}, {"held_after", held_after}, {"queue", queue}};
}

std::string wrong_bound(const json& file) {
  for (const json& bound : file.value("window_bounds", json::array())) {
    const int actual = smallest_window({.workers = bound.at("N"), .group = bound.at("P")});
    if (actual != bound.at("T"))
      return fmt::format("the smallest window is {}, expected {}", actual, bound.dump());
  }
  return "";
}

json weights_of(const json& input) {
  const std::map<std::string, GapPolicy> policies = {{"member", GapPolicy::member},
                                                     {"forward", GapPolicy::forward},
                                                     {"skip", GapPolicy::skip},
                                                     {"stalest", GapPolicy::stalest}};
  const std::vector<std::int64_t> iterations = input.at("iterations");
  json weights;
  for (const auto& [name, policy] : policies)
    weights[name] = dynamic_weights(iterations, {.policy = policy, .decay = input.at("decay")});
  return {{"weights", weights}, {"new_iteration", new_iteration(iterations)}};
}

}  // namespace

Verdict run_group_former(const json& file, const json& test) {
  const std::string wrong = wrong_bound(file);
  return wrong.empty() ? compare(test, run_former) : wrong;
}

Verdict run_staleness(const json&, const json& test) { return compare(test, weights_of); }

}  // namespace huddle
