#include "huddle/compare/scenario/scenario_file.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"
#include "huddle/cluster/cluster_file.h"
#include "huddle/compare/scenario/scenario_goals.h"
#include "huddle/compare/scenario/sweep.h"
#include "huddle/config/config_file.h"

namespace huddle {
namespace {

WorkloadOptions laid_over(WorkloadOptions base, const WorkloadOptions& over) {
  for (const auto& [key, value] : over) base[key] = value;
  return base;
}

// "lr" of the path workload.lr.
std::optional<std::string> workload_key(const std::string& path) {
  constexpr std::string_view kTable = "workload.";
  return path.starts_with(kTable) ? std::optional(path.substr(kTable.size())) : std::nullopt;
}

class ScenarioReader {
 public:
  ScenarioReader(const std::filesystem::path& path, const ScenarioRules& rules)
      : path_(path), rules_(rules), file_(path) {}

  Scenario read() && {
    scenario_.name = path_.stem().string();
    scenario_.source = huddle::read_file(path_, kMostTextBytes);
    read_words();
    read_goals();
    file_.one("workload", [this](ConfigSection& section) {
      const WorkloadOptions all = read_workload(section);
      seeds_ = read_seeds(section).value_or(seeds_);
      const auto line_of = [&](const std::string& key) { return section.line_of(key); };
      is_sound_ = add_sound(workload_, all, line_of) && section.is_sound();
      if (all.contains("lr") && !rates_.empty())
        section.refuse_key("lr",
                           "is chosen for each strategy by [tune]; leave out one of the two.");
    });
    file_.one("cluster", [this](ConfigSection& section) { read_cluster(section); });
    file_.each("case", [this](ConfigSection& section) { read_case(section); });
    if (!case_lines_.empty())
      check_names();
    else if (!file_.top().has("case"))
      add_case({.name = "all"}, cluster_, 0);
    file_.each("strategy", [this](ConfigSection& section) { read_strategy(section); });
    if (strategy_lines_.empty())
      file_.report(0, "no strategies to compare; write one [[strategy]] for each, run = \"bsp\".");
    check_target();
    if (is_sound_) check_runs();
    file_.each("expect", [this](ConfigSection& section) { read_expectation(section); });
    file_.finish();
    return std::move(scenario_);
  }

 private:
  void read_words() {
    ConfigSection& top = file_.top();
    scenario_.title = top.text("title").value_or(scenario_.name);
    scenario_.text = top.text("text").value_or("");
    scenario_.claim = top.text("claim").value_or("");
    scenario_.assumptions = top.texts("assumptions").value_or(std::vector<std::string>{});
    scenario_.engine = top.text("engine").value_or("");
    if (!scenario_.engine.empty())
      tried(top.line_of("engine"), [this] { rules_.check_engine(scenario_.engine); });
  }

  void read_goals() {
    file_.one("target", [this](ConfigSection& section) {
      scenario_.target = read_target(section);
      target_line_ = section.line_of("baseline");
    });
    file_.one("tune", [this](ConfigSection& section) {
      if (section.line() > 0) section.needs({"lr"});
      rates_ = read_rates(section, [this](const WorkloadOptions& one) { return mistake_in(one); });
    });
  }

  // Only the strategies tell which baselines there are.
  void check_target() {
    const std::string baseline = scenario_.target ? scenario_.target->baseline : "";
    if (!baseline.empty() && !is_among(yardsticks(), baseline))
      file_.report(target_line_, concat("'baseline' in [target] has an ",
                                        unknown_value("baseline", baseline, yardsticks())));
  }

  WorkloadOptions read_workload(ConfigSection& section) {
    WorkloadOptions workload;
    for (const std::string& key : rules_.workload_keys)
      if (const auto word = section.word(key)) workload[key] = *word;
    return workload;
  }

  // Lays options over `workload` one by one, in whichever order is sound, for one may need another.
  // Those that never are sound are the mistakes: they are reported and left out. True: none is.
  bool add_sound(WorkloadOptions& workload, WorkloadOptions left,
                 const std::function<int(const std::string&)>& line_of) {
    for (bool goes_on = true; goes_on;)
      goes_on = std::erase_if(left, [&](const auto& option) {
                  const WorkloadOptions with = laid_over(workload, {option});
                  const bool is_sound = !mistake_in(with);
                  if (is_sound) workload = with;
                  return is_sound;
                }) > 0;
    for (const auto& option : left)
      file_.report(line_of(option.first), *mistake_in(laid_over(workload, {option})));
    return left.empty();
  }

  // Reports what is refused; true: nothing is.
  bool tried(int line, const std::function<void()>& attempt) {
    try {
      attempt();
      return true;
    } catch (const UsageError& error) {
      file_.report(line, error.what());
      return false;
    }
  }

  std::optional<std::string> mistake_in(const WorkloadOptions& workload) const {
    try {
      rules_.check_workload(workload);
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  }

  // Likewise for what a case or strategy has of its own, in its table or by its sweep.
  bool check_own_workload(ConfigSection& section, const WorkloadOptions& own) {
    const ConfigTable* table = section.table("workload");
    WorkloadOptions all = workload_;
    return add_sound(all, own, [&](const std::string& key) {
      const ConfigEntry* entry = table ? find_entry(*table, key) : nullptr;
      return entry ? entry->line : section.line_of("sweep");
    });
  }

  // A file's cluster stands for the line that names it; a wrong file is told with its own lines.
  ConfigTable read_file(const std::string& name, int line) {
    std::filesystem::path file = path_.parent_path() / name;
    if (!std::filesystem::exists(file)) file = name;
    ConfigTable table;
    is_sound_ &= tried(line, [&] {
      read_cluster_file(file);
      table = at_line(parse_toml(huddle::read_file(file, kMostTextBytes), name), line);
    });
    return table;
  }

  // A table of a cluster over `base`; with `file` over that file's instead.
  ConfigTable cluster_over(ConfigTable base, ConfigTable over) {
    if (const ConfigEntry* file = find_entry(over, "file")) {
      const int line = file->line;
      base = read_file(as_word(file->value).value_or(""), line);
      std::erase_if(over, [](const ConfigEntry& entry) { return entry.key == "file"; });
    }
    drop_replaced(base, over);
    return overlaid(std::move(base), over);
  }

  void read_cluster(ConfigSection& section) {
    if (section.line() == 0) {
      file_.report(0, "no cluster; write [cluster] with workers = 8, or with file = \"lan.toml\".");
      is_sound_ = false;
      has_cluster_ = false;
    }
    cluster_ = cluster_over({}, section.everything());
  }

  void read_case(ConfigSection& section) {
    section.needs({"name"});
    const std::string name = section.text("name").value_or("");
    ScenarioCase one{.name = name, .text = section.text("text").value_or(""), .workload = {}};
    one.seeds = read_seeds(section).value_or(std::vector<int>{});
    ConfigTable over;
    if (const ConfigTable* table = section.table("cluster")) over = *table;
    section.inner("workload", [&](ConfigSection& inner) { one.workload = read_workload(inner); });
    const Sweep sweep = read_sweep(section, {"cluster.", "workload."});
    check_swept_keys(section, sweep);
    check_places(section, "name", name, sweep);
    check_places(section, "text", one.text, sweep);
    for (const SweepPoint& point : points_of(sweep)) {
      ScenarioCase variant = one;
      ConfigTable changed = over;
      for (const auto& [path, value] : point)
        if (const auto key = workload_key(path))
          variant.workload[*key] = as_word(value).value_or("");
        else
          set_at(changed, path.substr(std::string_view("cluster.").size()), value);
      variant.name = with_values(name, point);
      variant.text = with_values(one.text, point, Unnamed::left_out);
      const ConfigTable description = cluster_over(cluster_, changed);
      cases_by_name_[name].push_back(variant.name);
      if (variant.name != name) cases_by_name_[variant.name] = {variant.name};
      if (!check_own_workload(section, variant.workload) || !section.is_sound())
        unsound_cases_.insert(variant.name);
      add_case(std::move(variant), description, section.line());
    }
  }

  void check_swept_keys(ConfigSection& section, const Sweep& sweep) {
    for (const SweptKey& swept : sweep) {
      const auto key = workload_key(swept.path);
      if (key && !is_among(rules_.workload_keys, *key))
        section.refuse_key("sweep", concat("names an ", unknown_value("option of training", *key,
                                                                      rules_.workload_keys)));
    }
  }

  void add_case(ScenarioCase one, const ConfigTable& description, int line) {
    std::vector<ConfigProblem> problems;
    one.cluster = read_cluster_table(description, "cluster", problems);
    if (!find_entry(description, "name")) one.cluster.name = one.name;
    for (const ConfigProblem& problem : problems)
      if (has_cluster_) file_.report(problem.line > 0 ? problem.line : line, problem.message);
    if (problems.empty() && one.cluster.compute_per_step == 0 &&
        one.cluster.topology.nic_bytes_per_second == kUnlimited && has_cluster_)
      file_.report(line, concat("in case '", one.name, "' nothing takes time; say how long a step ",
                                "computes, [cluster.compute] step = \"50ms\", or how fast the ",
                                "network is, [cluster.network] nic = \"10Gbps\"."));
    if (!problems.empty()) unsound_cases_.insert(one.name);
    one.workload = laid_over(workload_, one.workload);
    if (one.seeds.empty()) one.seeds = seeds_;
    one.description = description;
    scenario_.cases.push_back(std::move(one));
    case_lines_.push_back(line);
  }

  void read_strategy(ConfigSection& section) {
    section.needs({"run"});
    strategy_lines_.push_back(section.line());
    const std::string run = section.text("run").value_or("");
    const std::optional<std::string> label = section.text("label");
    ScenarioStrategy one{.run = run};
    one.baselines = section.texts("baseline").value_or(std::vector<std::string>{});
    one.cases = read_case_names(section);
    section.inner("workload", [&](ConfigSection& inner) { one.workload = read_workload(inner); });
    one.rates = rates_;
    section.inner("tune", [&](ConfigSection& inner) {
      one.rates = read_rates(inner, [this](const WorkloadOptions& all) { return mistake_in(all); });
    });
    const Sweep sweep = read_sweep(section, {""});
    check_swept_keys(section, sweep);
    check_places(section, "label", label.value_or(""), sweep);
    if (!section.is_sound()) return;
    bool is_own_sound = true;
    const bool is_run_sound = tried(section.line_of("run"), [&] {
      const Spec spec = parse_spec(run);
      for (const SweepPoint& point : points_of(sweep)) {
        add_strategy(one, spec, point, label);
        rules_.check_spelling(scenario_.strategies.back().run);
        if (scenario_.target) refuse_own_model(section, scenario_.strategies.back().workload);
        is_own_sound &= check_own_workload(section, scenario_.strategies.back().workload);
      }
    });
    if (!is_run_sound || !is_own_sound) unsound_strategies_.insert(strategy_lines_.back());
  }

  // Without a label of its own a strategy goes by what is run, which names the keys of a sweep.
  void add_strategy(ScenarioStrategy one, Spec spec, const SweepPoint& point,
                    const std::optional<std::string>& label) {
    SweepPoint beside;
    for (const auto& [path, value] : point) {
      const auto key = workload_key(path);
      std::string& place = key ? one.workload[*key] : spec.values[path];
      place = as_word(value).value_or("");
      if (key) beside.emplace_back(path, value);
    }
    if (beside.size() < point.size()) one.run = to_string(spec);
    one.label = label ? with_values(*label, point) : with_values(one.run, beside);
    if (one.workload.contains("lr")) one.rates.clear();  // It has been given one.
    scenario_.strategies.push_back(std::move(one));
    run_lines_.push_back(strategy_lines_.back());
  }

  std::vector<std::string> read_case_names(ConfigSection& section) {
    std::vector<std::string> names;
    const auto asked = section.texts("cases");
    if (!asked) {
      for (const ScenarioCase& one : scenario_.cases) names.push_back(one.name);
      return names;
    }
    std::vector<std::string> known;
    for (const auto& [name, variants] : cases_by_name_) known.push_back(name);
    check_known(section, "cases", "case", *asked, known);
    for (const std::string& name : *asked)
      if (const auto found = cases_by_name_.find(name); found != cases_by_name_.end())
        names.insert(names.end(), found->second.begin(), found->second.end());
    return names;
  }

  void read_expectation(ConfigSection& section) {
    section.needs({"strategies", "over"});
    Expectation one{.labels = section.texts("strategies").value_or(std::vector<std::string>{}),
                    .cases = read_case_names(section),
                    .over = section.text("over").value_or("")};
    read_figure(section, one);
    check_known(section, "strategies", "strategy", one.labels, labels());
    check_known(section, "over", "baseline", {one.over}, yardsticks());
    scenario_.expectations.push_back(std::move(one));
  }

  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    for (const ScenarioStrategy& strategy : scenario_.strategies) labels.push_back(strategy.label);
    return labels;
  }

  std::vector<std::string> yardsticks() const {
    std::vector<std::string> names;
    for (const ScenarioStrategy& strategy : scenario_.strategies)
      names.insert(names.end(), strategy.baselines.begin(), strategy.baselines.end());
    if (names.empty()) names.push_back("bsp");  // As every comparison has it.
    return names;
  }

  static void check_known(ConfigSection& section, const std::string& key, const char* kind,
                          const std::vector<std::string>& names,
                          const std::vector<std::string>& known) {
    for (const std::string& name : names)
      if (section.has(key) && !is_among(known, name))
        section.refuse_key(key, concat("has an ", unknown_value(kind, name, known)));
  }

  void check_names() {
    std::set<std::string> names;
    for (std::size_t i = 0; i < scenario_.cases.size(); ++i)
      if (!names.insert(scenario_.cases[i].name).second)
        file_.report(case_lines_[i], concat("a second case is called '", scenario_.cases[i].name,
                                            "'; names must differ."));
  }

  void check_runs() {
    std::set<std::string> labels;
    for (std::size_t i = 0; i < scenario_.strategies.size(); ++i) {
      const ScenarioStrategy& strategy = scenario_.strategies[i];
      if (!labels.insert(strategy.label).second)
        file_.report(run_lines_[i], concat("a second strategy is called '", strategy.label,
                                           "'; give it another label."));
      for (const ScenarioCase& one : scenario_.cases) {
        if (unsound_strategies_.contains(run_lines_[i]) || unsound_cases_.contains(one.name) ||
            !is_among(strategy.cases, one.name))
          continue;
        const WorkloadOptions workload = workload_of(one, strategy);
        if (scenario_.target && workload.contains("epochs") && !workload.contains("evaluate_every"))
          file_.report(run_lines_[i],
                       "a run that counts epochs must say when its model is held against the "
                       "target: evaluate_every = 10, in steps.");
        tried(run_lines_[i], [&] { rules_.check_run(one, workload, strategy.run); });
      }
    }
  }

  const std::filesystem::path path_;
  const ScenarioRules& rules_;
  ConfigFile file_;
  Scenario scenario_;
  WorkloadOptions workload_;
  std::vector<int> seeds_ = {1};
  std::vector<std::string> rates_;
  int target_line_ = 0;
  ConfigTable cluster_;
  bool has_cluster_ = true;
  std::map<std::string, std::vector<std::string>> cases_by_name_;  // With those a sweep makes.
  std::vector<int> case_lines_;
  std::vector<int> strategy_lines_;
  std::vector<int> run_lines_;  // Of each strategy, those that a sweep makes included.
  // Whether it makes sense to look at single runs, and which of them to pass over.
  bool is_sound_ = true;
  std::set<std::string> unsound_cases_;
  std::set<int> unsound_strategies_;  // By line.
};

}  // namespace

Scenario read_scenario(const std::filesystem::path& path, const ScenarioRules& rules) {
  return ScenarioReader(path, rules).read();
}

WorkloadOptions workload_of(const ScenarioCase& one, const ScenarioStrategy& strategy) {
  WorkloadOptions all = laid_over(one.workload, strategy.workload);
  if (const auto rate = strategy.tuned.find(one.name); rate != strategy.tuned.end())
    all["lr"] = rate->second;
  return all;
}

}  // namespace huddle
