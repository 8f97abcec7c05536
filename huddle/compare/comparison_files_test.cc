#include "huddle/compare/comparison_files.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "huddle/base/error.h"
#include "huddle/compare/comparison_table.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Json = nlohmann::ordered_json;

class ComparisonFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { scratch_.write(name, text); }

  const ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

ComparedRun some_run() {
  ComparedRun run{.id = "lan/a/1", .case_name = "lan", .label = "a", .strategy = "bsp", .seed = 1};
  run.outcome.status = "complete";
  run.outcome.seconds = 10;
  run.outcome.step_seconds = 0.5;
  run.outcome.accuracy["consensus"] = 0.9;
  return run;
}

Comparison some_comparison() {
  Comparison comparison{.name = "tiny", .title = "A tiny one", .cases = {{.name = "lan"}}};
  comparison.runs = {some_run()};
  comparison.table = compare_runs(
      comparison.runs, std::vector<ComparedStrategy>{{.label = "a", .baselines = {"bsp"}}});
  return comparison;
}

TEST_F(ComparisonFiles, ReadsWhatASummarySays) {
  write("summary.json", R"({"status": "complete", "workers": 4, "steps_done": 8, "steps_taken": 40,
    "seconds": 20, "loss": null, "accuracy": {"consensus": 0.9, "worker_mean": null}, "drift": 0.5,
    "time": [{"worker": 0, "compute": 1, "wait": 2, "exchange": 3, "hidden": 4}],
    "share_by_worker": [0.25, 0.75], "rate_factor_by_worker": [2, 0.5],
    "links": [{"name": "up", "bytes": 7, "busy": 1, "full": 2, "bytes_per_second": 3}],
    "curve": [{"progress": 2, "time": 1.5, "loss": null, "accuracy": 0.8, "drift": 0.1}],
    "figures": {"groups": 3}, "lost": ["worker 1"], "warnings": []})");
  const RunOutcome outcome = *read_outcome(folder_);
  EXPECT_TRUE(outcome.is_complete());
  EXPECT_DOUBLE_EQ(*outcome.step_seconds, 2) << "40 steps of 4 workers in 20 s";
  EXPECT_FALSE(outcome.loss);
  EXPECT_EQ(outcome.accuracy.at("consensus"), 0.9);
  EXPECT_EQ(outcome.accuracy.at("worker_mean"), std::nullopt);
  EXPECT_EQ(outcome.time.at(0).exchange, 3);
  EXPECT_EQ(outcome.share_by_worker, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(outcome.rate_factor_by_worker, (std::vector<double>{2, 0.5}));
  EXPECT_EQ(outcome.links.at(0).name, "up");
  EXPECT_EQ(outcome.curve.at(0).consensus.accuracy, 0.8);
  EXPECT_TRUE(std::isnan(outcome.curve.at(0).consensus.loss));
  EXPECT_EQ(outcome.figures.at("groups"), 3);
  EXPECT_EQ(outcome.lost, std::vector<std::string>{"worker 1"});
}

TEST_F(ComparisonFiles, HalfASummaryIsNone) {
  EXPECT_FALSE(read_outcome(folder_));
  write("summary.json", R"({"status": "complete", "wor)");
  EXPECT_FALSE(read_outcome(folder_));
  write("summary.json", "[1]");
  EXPECT_FALSE(read_outcome(folder_));
}

TEST_F(ComparisonFiles, AStepEndsWithItsSlowestWorker) {
  write("steps.jsonl",
        "{\"worker\":1,\"step\":0,\"end\":2}\n{\"worker\":0,\"step\":0,\"end\":1}\n"
        "{\"worker\":0,\"step\":1,\"end\":3}\n{\"worker\":1,\"step\":1,\"end\":2.5}\n{\"worker\":1,"
        "\"st");
  EXPECT_EQ(read_step_ends(folder_), (std::vector<Time>{2, 3}));
  EXPECT_THROW(read_step_ends(folder_ / "nowhere"), UsageError);
}

TEST_F(ComparisonFiles, ResultsDifferInWallOnly) {
  const Comparison comparison = some_comparison();
  Json one = Json::parse(results_json(comparison, {"here", 1, {{"lan/a/1", 0.5}}}, "1.2"));
  Json other = Json::parse(results_json(comparison, {"there", 2, {}}, "1.2"));
  EXPECT_NE(one, other);
  EXPECT_EQ(one["runs"][0]["trained_in"], nullptr);
  EXPECT_EQ(one["table"][0]["baselines"][0]["speedup"], 1);
  EXPECT_EQ(one["scenario"]["target"], nullptr);
  EXPECT_EQ(one["version"], "1.2");
  one.erase("wall");
  other.erase("wall");
  EXPECT_EQ(one.dump(), other.dump());
}

TEST_F(ComparisonFiles, ResultsAreValidWhateverTheNumbersAndTextsAre) {
  Comparison comparison = some_comparison();
  comparison.runs[0].outcome.drift = std::numeric_limits<double>::infinity();
  comparison.runs[0].outcome.status = "failed: \xff";
  const Json json = Json::parse(results_json(comparison, {}, "1"));
  EXPECT_EQ(json["runs"][0]["drift"], nullptr);
}

TEST(ComparisonTable, LeavesOutWhatNobodyHas) {
  const std::string text = comparison_text(some_comparison());
  EXPECT_NE(text.find("500 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("vs bsp"), std::string::npos) << text;
  EXPECT_NE(text.find("90.00 %"), std::string::npos) << text;
  for (const char* absent : {"to target", "worker mean", "bottleneck", "Case:"})
    EXPECT_EQ(text.find(absent), std::string::npos) << absent << "\n" << text;
}

TEST(ComparisonTable, TellsFailuresAndOwnOptions) {
  Comparison comparison = some_comparison();
  ComparedRun failed = some_run();
  failed.label = "b";
  failed.outcome = {.status = "failed: worker 2 died at step 5"};
  comparison.runs.push_back(failed);
  comparison.table = compare_runs(
      comparison.runs,
      std::vector<ComparedStrategy>{
          {.label = "a", .baselines = {"bsp"}, .workload = {{"lr", "0.03"}}}, {.label = "b"}});
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("b: failed: worker 2 died at step 5"), std::string::npos) << text;
  EXPECT_NE(text.find("a has its own lr=0.03"), std::string::npos) << text;
  EXPECT_NE(text.find("bsp: a."), std::string::npos) << text;
}

TEST(ComparisonTable, SaysWhatToTargetIncludesAndWhoseRateWasChosen) {
  Comparison comparison = some_comparison();
  comparison.target = Target{.baseline = "bsp", .below = 0.003};
  comparison.cases[0].target = Target{.value = 0.8712};
  comparison.cases[0].consensus = ConsensusCost{.seconds = 0.25, .bytes_per_worker = 8};
  comparison.runs[0].reached = {.time = 1.25, .must_form = true, .bytes_per_worker = 8};
  comparison.table = compare_runs(
      comparison.runs, std::vector<ComparedStrategy>{
                           {.label = "a", .baselines = {"bsp"}, .tuned = {{"lan", "0.05"}}}});
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("of bsp with the same seed at its end, less 0.3"), std::string::npos) << text;
  EXPECT_NE(text.find("Target here: 87.12 % on the mean of the seeds."), std::string::npos) << text;
  EXPECT_NE(text.find("includes one average of everybody, 250 ms, for a"), std::string::npos)
      << text;
  EXPECT_NE(text.find("0.05"), std::string::npos) << text;
  EXPECT_EQ(text.find("has its own"), std::string::npos) << text;
  const Json json = Json::parse(results_json(comparison, {}, "1"));
  EXPECT_EQ(json["cases"][0]["consensus"]["seconds"], 0.25);
  EXPECT_EQ(json["cases"][0]["target"]["accuracy"], 0.8712);
  EXPECT_EQ(json["runs"][0]["time_to_target"], 1.25);
  EXPECT_EQ(json["runs"][0]["forms_at_target"], true);
  EXPECT_EQ(json["table"][0]["tuned"], true);
  EXPECT_EQ(json["table"][0]["workload"]["lr"], "0.05");
}

TEST_F(ComparisonFiles, CountsTheBytesSentUntilAMoment) {
  write("steps.jsonl", R"({"worker": 0, "step": 0, "end": 1, "bytes_sent": 10}
{"worker": 1, "step": 0, "end": 2, "bytes_sent": 30}
{"worker": 0, "step": 1, "end": 3, "bytes_sent": 100}
)");
  EXPECT_EQ(read_bytes_sent(folder_, 2), 20);
  EXPECT_EQ(read_bytes_sent(folder_, 0.5), 0);
}

}  // namespace
}  // namespace huddle
