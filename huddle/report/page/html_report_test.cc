#include "huddle/report/page/html_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/compare/result_fields.h"
#include "huddle/report/page/html_report_data.h"
#include "huddle/report/page/html_report_series.h"
#include "huddle/report/run_files.h"
#include "tests/support/sample_json.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Json = nlohmann::json;
using Path = std::filesystem::path;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class HtmlReportTest : public testing::Test {
 protected:
  Path write(const Path& name, const std::string& text) const { return scratch_.write(name, text); }

  // The folder of a run of two workers in which every step takes `step_seconds`.
  Path write_run(const std::string& name, const std::string& strategy, double step_seconds,
                 int steps = 10, const std::string& status = "complete") const {
    std::string lines;
    for (int step = 0; step < steps; ++step)
      for (int worker = 0; worker < 2; ++worker)
        lines += step_line(worker, step, (step + 1) * step_seconds, 1.0 / (step + 1), "[0,1]");
    write(Path(name) / "steps.jsonl", lines);
    Json summary = {{"strategy", strategy},
                    {"status", status},
                    {"workers", 2},
                    {"steps_done", steps},
                    {"seconds", steps * step_seconds},
                    {"seed", 18446744073709551615u},
                    {"time", {{{"worker", 0}, {"compute", 3}, {"wait", 1}, {"exchange", 0}}}},
                    {"links", {{{"name", "a"}, {"full", 1}}, {{"name", "b"}, {"full", 2}}}}};
    return write(Path(name) / "summary.json", summary.dump()).parent_path();
  }

  static std::string step_line(int worker, int step, double end, double loss,
                               const std::string& group) {
    return concat(R"({"worker":)", worker, R"(,"step":)", step, R"(,"end":)", end, R"(,"loss":)",
                  std::isfinite(loss) ? concat(loss) : "null",
                  R"(,"learning_rate":0.1,"time":{"compute":1,"loss":77,"step":9},"group":)", group,
                  "}\n");
  }

  static Json data_of(const std::vector<Path>& folders) {
    return Json::parse(report_data(folders));
  }

  static std::string refusal(const std::vector<Path>& folders) {
    try {
      report_data(folders);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const ScratchFolder scratch_;
  const Path& root_ = scratch_.path();
};

TEST(Thinner, KeepsEveryValueWhereTheyAreFew) {
  Thinner thinner(4, 1);
  for (int i = 0; i < 4; ++i) thinner.add(i, 10 * i);
  ASSERT_EQ(thinner.points().size(), 4u);
  EXPECT_EQ(thinner.points()[3].position, 3);
  EXPECT_EQ(thinner.points()[3].mean, 30);
}

TEST(Thinner, MeansAndExtremesAreThoseOfAllValuesInAStretch) {
  Thinner thinner(4, 1);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = i == 700 ? 1e6 : std::sin(i);
    sum += value;
    thinner.add(i, value);
  }
  const std::vector<ThinPoint> points = thinner.points();
  EXPECT_LE(points.size(), 4u);
  EXPECT_GE(points.size(), 3u);
  double weighted = 0, largest = 0;
  std::int64_t count = 0;
  for (const ThinPoint& point : points) {
    weighted += point.mean * static_cast<double>(point.count);
    count += point.count;
    largest = std::max(largest, point.largest);
    EXPECT_LE(point.smallest, point.mean);
  }
  EXPECT_EQ(count, 1000);
  EXPECT_NEAR(weighted, sum, 1e-6);
  EXPECT_EQ(largest, 1e6) << "a spike must stay visible";
}

TEST(Thinner, CutsAtTheSamePlacesInWhateverOrderValuesCome) {
  Thinner forward(10, 0.25), backward(10, 0.25);
  for (int i = 0; i < 500; ++i) {
    forward.add(i, i % 7);
    backward.add(499 - i, (499 - i) % 7);
  }
  ASSERT_EQ(forward.points().size(), backward.points().size());
  for (std::size_t i = 0; i < forward.points().size(); ++i) {
    EXPECT_EQ(forward.points()[i].position, backward.points()[i].position);
    EXPECT_EQ(forward.points()[i].mean, backward.points()[i].mean);
  }
}

TEST(Thinner, LeavesOutWhatHasNoPlaceOrNoValue) {
  Thinner thinner(10, 1);
  thinner.add(kNan, 1);
  thinner.add(-1, 1);
  thinner.add(std::numeric_limits<double>::infinity(), 1);
  thinner.add(1, kNan);
  EXPECT_TRUE(thinner.points().empty());
  EXPECT_THROW(Thinner(1, 1), LogicError);
}

TEST(Groups, RepeatAfterTheirShortestPeriod) {
  const GroupsRow pairs{{{0, 1}, {2, 3}}, {0, 0, 1, 1}, {}},
      crossed{{{0, 2}, {1, 3}}, {0, 1, 0, 1}, {}};
  EXPECT_EQ(group_period({pairs, crossed, pairs, crossed}), 2u);
  EXPECT_EQ(group_period({pairs, pairs, pairs}), 1u);
  EXPECT_EQ(group_period({pairs, crossed, crossed}), std::nullopt);
  EXPECT_EQ(group_period({pairs}), std::nullopt);
  EXPECT_EQ(group_period({}), std::nullopt);
}

TEST_F(HtmlReportTest, ReadsLossesTimesAndGroupsOfSteps) {
  std::string text;
  for (int step = 0; step < 4; ++step)
    for (int worker = 0; worker < 4; ++worker)
      text += step_line(worker, step, step + 1, worker,
                        step % 2 == 1     ? concat("[", worker, "]")
                        : worker % 2 == 0 ? "[0,2]"
                                          : "[1,3]");
  const StepSeries series = read_steps(write("steps.jsonl", text), 400);
  EXPECT_EQ(series.lines, 16);
  EXPECT_EQ(series.steps, 4);
  ASSERT_EQ(series.loss_by_step.size(), 4u);
  EXPECT_EQ(series.loss_by_step[0].position, 1);
  EXPECT_EQ(series.loss_by_step[0].mean, 1.5);
  EXPECT_EQ(series.loss_by_step[0].largest, 3);
  EXPECT_EQ(series.end_by_step[3].mean, 4);
  EXPECT_TRUE(series.groups_repeat);
  ASSERT_EQ(series.groups.size(), 2u);
  EXPECT_EQ(series.groups[0].groups, (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(series.groups[0].group_of, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_FALSE(series.is_cut_off);
}

// Worker 2 is slow: others meet twice before its first step is done. Rows by each worker's own step
// would tear its meetings apart.
TEST_F(HtmlReportTest, DrawsGroupsThatFormOnTheWayAsTheyMet) {
  const auto line = [](int worker, int step, double end, const std::string& group, int meeting) {
    std::string text = step_line(worker, step, end, 1, group);
    return text.insert(text.find_last_of('}'), concat(R"(,"meeting":)", meeting));
  };
  const std::string text = line(0, 0, 1, "[0,1]", 0) + line(1, 0, 1, "[0,1]", 0) +
                           line(1, 1, 2, "[1,3]", 1) + line(3, 0, 2.5, "[1,3]", 1) +
                           line(0, 1, 3, "[0,2]", 3) + line(2, 0, 3, "[0,2]", 3) +
                           line(1, 2, 2.75, "[1,3]", 2) + line(3, 1, 2.75, "[1,3]", 2);
  const StepSeries series = read_steps(write("steps.jsonl", text), 400);
  ASSERT_EQ(series.groups.size(), 4u);
  EXPECT_FALSE(series.groups_repeat);
  EXPECT_EQ(series.groups[0].groups, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(series.groups[0].group_of, (std::vector<int>{0, 0, -1, -1}));
  EXPECT_EQ(series.groups[1].end, 2.5);
  EXPECT_EQ(series.groups[2].end, 2.75);
  EXPECT_EQ(series.groups[3].group_of, (std::vector<int>{0, -1, 0, -1}));
}

TEST_F(HtmlReportTest, KeepsLongRunsShortAndAlignedInTime) {
  std::string text;
  for (int step = 0; step < 5000; ++step)
    for (int worker = 0; worker < 2; ++worker)  // The second is twice as slow.
      text += step_line(worker, step, (step + 1) * (worker + 1), 1, "[0,1]");
  const StepSeries series = read_steps(write("steps.jsonl", text), 100);
  for (const auto* points : {&series.loss_by_step, &series.loss_by_time}) {
    EXPECT_LE(points->size(), 100u);
    EXPECT_GE(points->size(), 50u);
    for (std::size_t i = 1; i < points->size(); ++i)
      EXPECT_GT((*points)[i].position, (*points)[i - 1].position);
  }
}

TEST_F(HtmlReportTest, ForgivesACutOffLastLineAndNoOther) {
  const std::string line = step_line(0, 0, 1, 1, "[0]");
  const StepSeries series = read_steps(write("a", line + line.substr(0, 30)), 400);
  EXPECT_EQ(series.lines, 1);
  EXPECT_TRUE(series.is_cut_off);
  EXPECT_EQ(read_steps(write("empty", ""), 400).lines, 0);
  for (const std::string broken : {"{\"worker\":", "[]", "{}", "{\"worker\":-1,\"step\":0}",
                                   "{\"worker\":0,\"step\":1e400}", "\xff"}) {
    const Path file = write("b", line + broken + "\n" + line);
    try {
      read_steps(file, 400);
      ADD_FAILURE() << broken;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(read_steps(root_ / "missing", 400), UsageError);
}

TEST_F(HtmlReportTest, TellsWhereALossDiverged) {
  std::string text;
  for (int step = 0; step < 5; ++step) text += step_line(0, step, step, step < 3 ? 1 : kNan, "[0]");
  const StepSeries series = read_steps(write("a", text), 400);
  EXPECT_EQ(series.diverged_step, 3);
  EXPECT_EQ(series.loss_by_step.size(), 3u);
}

TEST_F(HtmlReportTest, PutsValuesAtTheTimesOfAnotherRun) {
  StepSeries timed;
  timed.end_by_step = {{.position = 1, .mean = 10}, {.position = 3, .mean = 30}};
  const std::vector<ThinPoint> points = at_times_of(
      timed, {{.position = 0.5, .mean = 7}, {.position = 2, .mean = 8}, {.position = 4}});
  ASSERT_EQ(points.size(), 2u) << "the timed run never made step 4";
  EXPECT_EQ(points[0].position, 5);
  EXPECT_EQ(points[1].position, 20);
  EXPECT_EQ(points[1].mean, 8);
}

TEST_F(HtmlReportTest, EscapesWhatCouldEndAnElement) {
  EXPECT_EQ(escaped_for_script("\"</script>&\""), "\"\\u003c/script\\u003e\\u0026\"");
  const Path folder = write_run("run", "</script><script>alert(1)</script>&\u2028\u2029", 1);
  const std::string text = escaped_for_script(report_data({folder}));
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (const char character : text) EXPECT_LT(static_cast<unsigned char>(character), 0x80);
  EXPECT_EQ(Json::parse(text)["runs"][0]["strategy"],
            "</script><script>alert(1)</script>&\u2028\u2029");
}

TEST_F(HtmlReportTest, ComparesSingleRunsOverBsp) {
  const Json data = data_of({write_run("s", "sesgd", 1), write_run("b", "bsp", 2)});
  ASSERT_EQ(data["table"].size(), 2u);
  const Json& row = data["table"][0];
  EXPECT_EQ(row["baselines"][0]["label"], "bsp");
  EXPECT_EQ(row["baselines"][0]["speedup"], 2.0);
  EXPECT_EQ(data["answers"][0]["headline"][0], "sesgd, 2.00x.");
  EXPECT_EQ(row["wait"], 0.25);
  EXPECT_EQ(row["bottleneck"], "b");
  EXPECT_TRUE(row["time_to_target"]["mean"].is_null());
  EXPECT_EQ(data["runs"][0]["seed"], "18446744073709551615") << "a browser would round it";
  EXPECT_EQ(data["runs"][0]["series"]["loss_by_time"]["at"].size(), 10u);
}

TEST_F(HtmlReportTest, GivesNoSpeedUpForARunThatFailedOrTrainedOtherwise) {
  const Path bsp = write_run("b", "bsp", 2);
  const Json failed = data_of({bsp, write_run("f", "sesgd", 1, 10, "failed: worker 1 died")});
  EXPECT_EQ(failed["table"][0]["baselines"][0]["speedup"], 1.0);
  EXPECT_TRUE(failed["table"][1]["baselines"][0]["speedup"].is_null());
  EXPECT_EQ(failed["runs"][1]["status"], "failed: worker 1 died");
  const Path other = write_run("o", "sesgd", 1);
  write("o/summary.json", R"({"strategy":"sesgd","status":"complete","workers":4})");
  const Json differing = data_of({bsp, other});
  EXPECT_TRUE(differing["table"][1]["baselines"].empty());
  EXPECT_EQ(differing["notes"].size(), 1u);
}

TEST_F(HtmlReportTest, TellsRunsOfOneStrategyApartByTheirFolders) {
  const Json data = data_of({write_run("a", "bsp", 1), write_run("b", "bsp", 1)});
  EXPECT_EQ(data["runs"][0]["label"], "bsp (a)");
  EXPECT_EQ(data["runs"][1]["label"], "bsp (b)");
}

TEST_F(HtmlReportTest, ReadsAComparisonWhoseTimedRunSharesValues) {
  write_run("c/runs/x/1", "sesgd", 1);
  write_run("c/runs/y/1", "sesgd", 3);
  write("c/results.json", R"({"format":1,"version":"9.9","cases":[{"name":"x"},{"name":"y"}],
    "scenario":{"name":"n","assumptions":["one",2],"target":null},
    "runs":[{"id":"x/1","case":"x","label":"sesgd","trained_in":null},
            {"id":"y/1","case":"y","label":"sesgd","trained_in":"x/1"},
            {"id":"z/1","case":"y","label":"lost","status":"failed: no memory"}],
    "answer":{"headline":["h"],"cases":[{"case":"x","result":"sesgd, 2.00x"}]},
    "table":[{"case":"x","label":"sesgd","baselines":[{"name":"best","speedup":null}]}]})");
  const Json data = data_of({root_ / "c"});
  EXPECT_EQ(data["scenarios"][0]["assumptions"], (Json{"one", "2"}));
  EXPECT_EQ(data["scenarios"][0]["version"], "9.9");
  EXPECT_EQ(data["runs"][1]["series"]["loss_by_time"]["at"][0], 3.0);
  EXPECT_EQ(data["runs"][1]["series"]["loss_by_time"]["mean"],
            data["runs"][0]["series"]["loss_by_step"]["mean"]);
  EXPECT_FALSE(data["runs"][2].contains("series"));
  const Json twice = data_of({root_ / "c", root_ / "c", write_run("s", "bsp", 1)});
  EXPECT_EQ(twice["cases"][0]["name"], "n: x");
  EXPECT_EQ(twice["cases"][2]["name"], "n (2): x");
  EXPECT_EQ(twice["answers"][1]["cases"][0]["case"], "n (2): x");
  EXPECT_EQ(twice["cases"][4]["name"], "single runs");
}

TEST_F(HtmlReportTest, HasEveryFieldOfTheTableAndSaysHowToShowIt) {
  const auto results = sample_of(JsonKind<Results>::shape());
  write("c/results.json", results.dump());
  const Json data = data_of({root_ / "c"});
  EXPECT_EQ(data["table"], Json(results["table"]));
  const std::string script = read_file("huddle/report/page/figures.js", kMostTextBytes);
  for (const Json& column : data["columns"]) {
    EXPECT_TRUE(data["table"][0].contains(column["key"].get<std::string>())) << column;
    EXPECT_NE(script.find(concat("\n  ", column["format"].get<std::string>(), ": (value)")),
              std::string::npos)
        << column;
  }
}

TEST_F(HtmlReportTest, LimitsWorkersAndLinks) {
  Json summary = {{"strategy", "bsp"}, {"status", "complete"}, {"workers", 200}};
  for (int i = 0; i < 200; ++i) {
    summary["time"].push_back({{"worker", i}, {"compute", i}});
    summary["links"].push_back({{"name", std::to_string(i)}, {"full", i}});
  }
  write("run/summary.json", summary.dump());
  const Json run = data_of({root_ / "run"})["runs"][0];
  EXPECT_EQ(run["time"].size(), 50u);
  EXPECT_EQ(run["time"][0]["last"], 3);
  EXPECT_EQ(run["time"][0]["compute"], 1.5);
  EXPECT_EQ(run["links"].size(), 4u);
  EXPECT_EQ(run["links"][0]["name"], "199");
  EXPECT_EQ(run["links_left_out"], 196);
}

TEST_F(HtmlReportTest, PutsSharesOfStepsBesideTheTimesOfTheirWorkers) {
  Json summary = {{"strategy", "p_reduce"}, {"status", "complete"}, {"workers", 128}};
  for (int i = 0; i < 128; ++i) {
    summary["time"].push_back({{"worker", i}, {"compute", 1}});
    summary["share_by_worker"].push_back(i % 2 == 0 ? 0.25 : 0.75);
  }
  write("run/summary.json", summary.dump());
  Json run = data_of({root_ / "run"})["runs"][0];
  EXPECT_EQ(run["time"][3]["share"], 0.5) << "the mean of neighbours";
  EXPECT_EQ(run["time"][3]["heard"], 0.5) << "no rate was scaled";
  EXPECT_FALSE(run.contains("share_by_worker"));
  for (int i = 0; i < 128; ++i) summary["rate_factor_by_worker"].push_back(i % 2 == 0 ? 3 : 1. / 3);
  write("run/summary.json", summary.dump());
  run = data_of({root_ / "run"})["runs"][0];
  EXPECT_EQ(run["time"][3]["share"], 0.5);
  EXPECT_EQ(run["time"][3]["heard"], 0.5) << "(0.75 + 0.25) / 2";
  write("old/summary.json", R"({"strategy":"bsp","time":[{"worker":0}]})");
  EXPECT_FALSE(data_of({root_ / "old"})["runs"][0]["time"][0].contains("share"));
}

TEST_F(HtmlReportTest, DrawsLinksThatAreLoadedAlikeOnce) {
  Json summary = {{"strategy", "bsp"}, {"status", "complete"}, {"workers", 4}, {"seconds", 10}};
  for (int i = 0; i < 4; ++i)
    for (const char* way : {"out", "in"})
      summary["links"].push_back({{"name", concat("worker ", i, " ", way)},
                                  {"full", 7.2 + 0.01 * i},
                                  {"bytes", 100 * i},
                                  {"bytes_per_second", 1000}});
  write("run/summary.json", summary.dump());
  Json links = data_of({root_ / "run"})["runs"][0]["links"];
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0]["name"], "8 links");
  EXPECT_EQ(links[0]["count"], 8);
  EXPECT_EQ(links[0]["bytes"], 150);
  EXPECT_EQ(links[0]["full"], 7.215);
  summary["links"].push_back({{"name", "rack 0 out"}, {"full", 7.2}, {"bytes_per_second", 4000}});
  write("run/summary.json", summary.dump());
  links = data_of({root_ / "run"})["runs"][0]["links"];
  ASSERT_EQ(links.size(), 2u) << "as full, but of another bandwidth";
  EXPECT_EQ(links[0]["name"], "8 worker links");
  EXPECT_EQ(links[1]["name"], "rack 0 out");
}

TEST_F(HtmlReportTest, KeepsTimesAndLinksOfTheFirstSeedOnly) {
  write("c/results.json", R"({"format":1,"cases":[{"name":"x"}],"runs":[
    {"id":"1","case":"x","label":"a","time":[{"worker":0}],"links":[{"name":"l"}]},
    {"id":"2","case":"x","label":"a","time":[{"worker":0}],"links":[{"name":"l"}]},
    {"id":"3","case":"x","label":"b","time":[{"worker":0}],"links":[{"name":"l"}]}]})");
  const Json runs = data_of({root_ / "c"})["runs"];
  for (const char* key : {"time", "links"}) {
    EXPECT_EQ(runs[0][key].size(), 1u);
    EXPECT_EQ(runs[1][key].size(), 0u);
    EXPECT_EQ(runs[2][key].size(), 1u);
  }
}

TEST_F(HtmlReportTest, RefusesBadInputByName) {
  EXPECT_NE(refusal({root_ / "nowhere"}).find("nowhere"), std::string::npos);
  write("empty/x", "");
  EXPECT_NE(refusal({root_ / "empty"}).find("neither results.json"), std::string::npos);
  write("broken/summary.json", "{\"strategy\": ");
  EXPECT_NE(refusal({root_ / "broken"}).find("summary.json' is not a whole JSON"),
            std::string::npos);
  write("list/summary.json", "[]");
  EXPECT_NE(refusal({root_ / "list"}).find("not a whole JSON object"), std::string::npos);
  write("new/results.json", R"({"format": 2})");
  EXPECT_NE(refusal({root_ / "new"}).find("format 2"), std::string::npos);
  for (const char* id : {"../../other", "/etc", ""}) {
    write("out/results.json", concat(R"({"format":1,"runs":[{"id":")", id, R"("}]})"));
    EXPECT_NE(refusal({root_ / "out"}).find("run id"), std::string::npos) << id;
  }
}

TEST_F(HtmlReportTest, CopesWithFilesOfAnyContent) {
  write("odd/results.json", R"({"format":1,"scenario":[1],"cases":7,"runs":{"a":1},"table":[3,null],
                                "wall":4,"version":{}})");
  EXPECT_EQ(data_of({root_ / "odd"})["table"].size(), 2u);
  write("none/summary.json", "{}");
  EXPECT_EQ(data_of({root_ / "none"})["runs"][0]["accuracy"], Json::object());
}

TEST_F(HtmlReportTest, TellsHowMuchHasBeenRead) {
  std::vector<std::int64_t> told;
  report_data({write_run("a", "bsp", 1, 30), write_run("b", "sesgd", 1, 30)},
              [&told](std::int64_t done, std::int64_t all) {
                told.push_back(done);
                EXPECT_LE(done, all);
              });
  const auto bytes = std::filesystem::file_size(root_ / "a/steps.jsonl") +
                     std::filesystem::file_size(root_ / "b/steps.jsonl");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), static_cast<std::int64_t>(bytes));
}

TEST_F(HtmlReportTest, WritesOneWholePage) {
  const Path folder = write_run("run", "bsp", 1);
  write("run/summary.json", summary_json({.strategy = "bsp", .workers = 2}, "1"));
  const Path file = root_ / "report.html";
  if (!can_write_report()) {
    EXPECT_THROW(write_report({folder}, file), UsageError);
    GTEST_SKIP() << "built without Chart.js";
  }
  write_report({folder}, file);
  std::ifstream stream(file);
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find(escaped_for_script(report_data({folder}))), std::string::npos);
  EXPECT_NE(page.find("Released under the MIT License"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* place : {"@report", "-hashes@", "src=\"http"})
    EXPECT_EQ(page.find(place), std::string::npos) << place;
  EXPECT_THROW(write_report({folder}, root_), UsageError);
  EXPECT_THROW(write_report({folder}, root_ / "missing" / "report.html"), UsageError);
  EXPECT_FALSE(std::filesystem::exists(root_ / "report.html.unfinished"));
}

}  // namespace
}  // namespace huddle
