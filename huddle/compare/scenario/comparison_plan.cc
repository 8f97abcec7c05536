#include "huddle/compare/scenario/comparison_plan.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::int64_t kCurvePoints = 40;
constexpr double kWorkOfTiming = 0.2;  // Of that of a training.
constexpr const char* kHeldOut = "0.1";
constexpr int kTuningSeed = 0;

// Or a digit, of ASCII.
bool is_plain_letter(char symbol) {
  const auto byte = static_cast<unsigned char>(symbol);
  return byte < 0x80 && std::isalnum(byte);
}

// Different safe names for items whose texts are different.
template <typename Item>
std::vector<std::string> safe_names(const std::vector<Item>& items, std::string Item::*text,
                                    std::set<std::string> taken) {
  std::vector<std::string> names;
  for (const Item& item : items) {
    const std::string name = safe_name(item.*text);
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = concat(name, "-", number);
    names.push_back(unique);
  }
  return names;
}

class Planner {
 public:
  Planner(const Scenario& scenario, const PlanRules& rules)
      : scenario_(scenario),
        rules_(rules),
        case_names_(safe_names(scenario.cases, &ScenarioCase::name, {kTrained, kTuned, kAverage})),
        label_names_(safe_names(scenario.strategies, &ScenarioStrategy::label, {})) {}

  ComparisonPlan plan() && {
    for (const std::string& name : case_names_)
      plan_.case_files.push_back(concat("cases/", name, ".toml"));
    for (std::size_t i = 0; scenario_.target && i < scenario_.cases.size(); ++i) add_average(i);
    for_each_run([this](const PlannedRun& place) { add_tunings(place); });
    for_each_run([this](const PlannedRun& place) { add_training(place); });
    for_each_run([this](const PlannedRun& place) { add_run(place); });
    return std::move(plan_);
  }

 private:
  // Folders that no case may have.
  static constexpr const char* kTrained = "trained";
  static constexpr const char* kTuned = "tuned";
  static constexpr const char* kAverage = "average";

  template <typename Add>
  void for_each_run(const Add& add) {
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i)
      for (std::size_t j = 0; j < scenario_.strategies.size(); ++j) {
        if (!is_among(scenario_.strategies[j].cases, scenario_.cases[i].name)) continue;
        for (const int seed : scenario_.cases[i].seeds)
          add(PlannedRun{.id = concat(case_names_[i], "/", label_names_[j], "/", seed),
                         .case_index = i,
                         .strategy_index = j,
                         .strategy = scenario_.strategies[j].run,
                         .seed = seed});
      }
  }

  const ScenarioCase& case_of(const PlannedRun& run) const {
    return scenario_.cases[run.case_index];
  }
  const ScenarioStrategy& strategy_of(const PlannedRun& run) const {
    return scenario_.strategies[run.strategy_index];
  }

  // What the run is given, with what follows from it written out.
  WorkloadOptions workload(const PlannedRun& run) const {
    WorkloadOptions all = workload_of(case_of(run), strategy_of(run));
    const bool counts_epochs = all.contains("epochs");
    if (!counts_epochs) all.try_emplace("steps", std::to_string(rules_.usual_steps));
    const std::string data = all.contains("data") ? parse_spec(all["data"]).name : "digits";
    const bool is_small = data == "digits" || data == "quadratic";
    if (!counts_epochs && (scenario_.target || is_small))
      all.try_emplace("evaluate_every",
                      std::to_string(std::max<std::int64_t>(1, steps_in(all) / kCurvePoints)));
    return all;
  }

  static std::int64_t steps_in(const WorkloadOptions& all) {
    const auto steps = all.find("steps");
    return steps == all.end() ? 1 : std::max(1LL, std::atoll(steps->second.c_str()));
  }

  // Whether the model is of a size of its own on the wire.
  static bool has_size(const Cluster& cluster, const WorkloadOptions& all) {
    return cluster.wire_bytes > 0 || all.contains("wire");
  }

  static bool is_timing_only(const WorkloadOptions& all) {
    const auto found = all.find("timing_only");
    return found != all.end() && found->second == "true";
  }

  // Whether time has no say in what this run computes, and the run can be timed without values.
  bool can_be_timed_apart(const PlannedRun& run, const WorkloadOptions& all) const {
    const Cluster& cluster = case_of(run).cluster;
    const bool loses_workers = !cluster.deaths.empty() || !cluster.cuts.empty();
    return rules_.has_timing && has_size(cluster, all) && !loses_workers &&
           !rules_.has_own_pace(strategy_of(run).run) &&
           std::ranges::none_of(rules_.keys_of_length,
                                [&](const auto& key) { return all.contains(key); });
  }

  // Runs with equal keys compute equal values.
  using Key = std::tuple<std::string, WorkloadOptions, int, int, std::vector<int>, double>;
  Key key_of(const PlannedRun& run, WorkloadOptions all) const {
    all.erase("timing_only");
    const Cluster& cluster = case_of(run).cluster;
    return {rules_.values_of(strategy_of(run).run, cluster),
            std::move(all),
            run.seed,
            cluster.workers,
            cluster.topology.racks,
            cluster.wire_bytes};
  }

  // Sets how the run is started.
  void command(PlannedRun& run, const WorkloadOptions& options) const {
    PlanRules::Start start = rules_.start(case_of(run).cluster.workers);
    run.launcher = std::move(start.launcher);
    std::vector<std::string>& words = run.arguments = std::move(start.command);
    for (const std::string& word :
         {std::string("train"), std::string("--engine"), rules_.engine, std::string("--cluster"),
          plan_.case_files[run.case_index], std::string("--strategy"), run.strategy})
      words.push_back(word);
    for (std::string& word : train_options(options)) words.push_back(std::move(word));
    for (const std::string& word :
         {std::string("--seed"), std::to_string(run.seed), std::string("--out"),
          concat("runs/", run.id), std::string("--quiet")})
      words.push_back(word);
  }

  double work(const PlannedRun& run, const WorkloadOptions& all) const {
    return static_cast<double>(steps_in(all)) * case_of(run).cluster.workers;
  }

  // One average of all models in a case. A model that has no size of its own is trained for a step.
  void add_average(std::size_t case_index) {
    const ScenarioCase& one = scenario_.cases[case_index];
    PlannedRun run{.id = concat(kAverage, "/", case_names_[case_index]),
                   .case_index = case_index,
                   .strategy = is_in_racks(one.cluster) ? "bsp:algorithm=sharded,overlap=none"
                                                        : "bsp:overlap=none",
                   .seed = one.seeds.front()};
    WorkloadOptions all = one.workload;
    const bool is_timed_only = rules_.has_timing && has_size(one.cluster, all);
    std::vector<std::string> kept{"wire", "deadline"};
    if (!is_timed_only) kept.insert(kept.end(), {"batch", "data", "data_dir", "model"});
    std::erase_if(all, [&](const auto& option) { return !is_among(kept, option.first); });
    if (is_timed_only) all["timing_only"] = "true";
    all["steps"] = "1";
    command(run, all);
    run.work = kWorkOfTiming * one.cluster.workers;
    plan_.averages.push_back(std::move(run));
  }

  static bool is_in_racks(const Cluster& cluster) {
    const int each = cluster.topology.equal_rack_size();
    return each > 0 && each < cluster.workers;
  }

  void add_tunings(PlannedRun run) {
    const ScenarioStrategy& strategy = strategy_of(run);
    const bool is_first_seed = run.seed == case_of(run).seeds.front();
    WorkloadOptions all = workload(run);
    if (strategy.rates.empty() || strategy.tuned.contains(case_of(run).name) || !is_first_seed ||
        is_timing_only(all))
      return;
    const std::pair place(run.case_index, run.strategy_index);
    all.erase("evaluate_every");
    if (can_be_timed_apart(run, all)) all.erase("wire");
    run.seed = kTuningSeed;
    all["lr"] = joined(strategy.rates);  // For the key alone.
    const Key key = key_of(run, all);
    const auto known = tuning_keys_.find(key);
    if (known != tuning_keys_.end()) {
      for (std::size_t i = 0; i < strategy.rates.size(); ++i)
        plan_.tunings[known->second + i].serves.push_back(place);
      return;
    }
    tuning_keys_[key] = plan_.tunings.size();
    const std::string folder = concat(kTuned, "/", case_names_[run.case_index], "/",
                                      label_names_[run.strategy_index], "/");
    if (!all.contains("data") || parse_spec(all["data"]).name != "quadratic")
      all["holdout"] = kHeldOut;
    run.work = work(run, all);
    for (const std::string& rate : strategy.rates) {
      all["lr"] = rate;
      run.id = folder + safe_name(rate);
      command(run, all);
      plan_.tunings.push_back({run, rate, {place}});
    }
  }

  void add_training(PlannedRun run) {
    const WorkloadOptions all = workload(run);
    if (is_timing_only(all) || !can_be_timed_apart(run, all)) return;
    const Key key = key_of(run, all);
    if (is_among(keys_, key)) return;
    keys_.push_back(key);
    run.id = concat(kTrained, "/", run.id);
    // Its times are of no use, and a model of its own size is cut into fewer messages.
    WorkloadOptions without_wire = all;
    without_wire.erase("wire");
    command(run, without_wire);
    run.work = work(run, all);
    plan_.trainings.push_back(std::move(run));
  }

  void add_run(PlannedRun run) {
    WorkloadOptions all = workload(run);
    run.work = work(run, all);
    const bool is_apart = can_be_timed_apart(run, all);
    if (is_apart) {
      const auto found = std::find(keys_.begin(), keys_.end(), key_of(run, all));
      if (found != keys_.end()) run.trained_in = static_cast<std::size_t>(found - keys_.begin());
    }
    if (is_apart || is_timing_only(all)) {
      std::erase_if(all, [this](const auto& option) {
        return is_among(rules_.keys_of_values, option.first) ||
               is_among(rules_.keys_of_length, option.first);
      });
      all["timing_only"] = "true";
      run.work *= kWorkOfTiming;
    }
    command(run, all);
    if (is_apart && run.trained_in) run.timed_in = same_but_for_seed(run);
    plan_.runs.push_back(std::move(run));
  }

  // An earlier run that takes the same time, because nothing in the cluster is drawn at random.
  std::optional<std::size_t> same_but_for_seed(const PlannedRun& run) const {
    const Cluster& cluster = case_of(run).cluster;
    if (cluster.jitter > 0 || cluster.wander.amplitude > 0 || !cluster.pauses.empty() ||
        cluster.random_slowdown.workers > 0 || !cluster.variations.empty())
      return {};
    for (std::size_t i = 0; i < plan_.runs.size(); ++i)
      if (plan_.runs[i].case_index == run.case_index &&
          plan_.runs[i].strategy_index == run.strategy_index)
        return i;
    return {};
  }

  const Scenario& scenario_;
  const PlanRules& rules_;
  const std::vector<std::string> case_names_;
  const std::vector<std::string> label_names_;
  std::vector<Key> keys_;                   // Of the trainings.
  std::map<Key, std::size_t> tuning_keys_;  // The first of the tunings of each.
  ComparisonPlan plan_;
};

}  // namespace

ComparisonPlan plan_comparison(const Scenario& scenario, const PlanRules& rules) {
  return Planner(scenario, rules).plan();
}

std::vector<std::string> train_options(const WorkloadOptions& workload) {
  std::vector<std::string> words;
  for (const auto& [key, value] : workload) {
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    if (value == "false") continue;
    words.push_back(option);
    if (value != "true") words.push_back(value);
  }
  return words;
}

std::string safe_name(const std::string& text) {
  std::string name;
  for (const char symbol : text) {
    if (is_plain_letter(symbol) || symbol == '_' || symbol == '.')
      name += symbol;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  name = name.substr(0, kLongestName);
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  name.erase(name.find_last_not_of('-') + 1);
  return name.empty() ? "unnamed" : name;
}

std::string command_text(const PlannedRun& run) {
  std::vector<std::string> words = run.launcher;
  words.push_back("huddle");
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  return shell_text(words);
}

std::string shell_text(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    const bool is_plain = !argument.empty() && std::ranges::all_of(argument, [](char symbol) {
      return is_plain_letter(symbol) ||
             std::string_view("-_./:=,+@%").find(symbol) != std::string_view::npos;
    });
    std::string quoted;
    for (const char symbol : argument) quoted += symbol == '\'' ? "'\\''" : std::string(1, symbol);
    words.push_back(is_plain ? argument : concat("'", quoted, "'"));
  }
  return joined(words, " ");
}

}  // namespace huddle
