#include "huddle/report/run_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Json = nlohmann::json;

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

class RunFilesTest : public testing::Test {
 protected:
  std::string text(const char* name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::vector<Json> steps() const {
    std::vector<Json> records;
    std::ifstream file(directory_ / "steps.jsonl");
    for (std::string line; std::getline(file, line);) records.push_back(Json::parse(line));
    return records;
  }

  Json summary() const { return Json::parse(text("summary.json")); }

  const ScratchFolder scratch_;
  const std::filesystem::path directory_ = scratch_.path() / "a" / "run";  // Does not exist yet.
};

StepRecord full_record() {
  return {.worker = {3},
          .step = {41},
          .progress = 42,
          .end = 1.5,
          .loss = 0.1,
          .learning_rate = 1e-5,
          .time = {.compute = 0.25, .wait = 0.5, .exchange = 0.125, .hidden = 0.0625},
          .bytes_sent = 5'000'000'000,
          .messages_sent = 7,
          .group = Group({{5}, {3}, {0}})};
}

Summary full_summary() {
  Summary summary;
  summary.strategy = "ds_sync:group=4";
  summary.engine = "threads";
  summary.model = "mlp";
  summary.data = "digits";
  summary.split = "iid";
  summary.optimizer = "sgd";
  summary.workers = 2;
  summary.batch = 32;
  summary.steps = 100;
  summary.steps_done = 90;
  summary.steps_taken = 180;
  summary.steps_by_worker = {45, 135};
  summary.rate_factor_by_worker = {2, 0.5};
  summary.seed = std::numeric_limits<std::uint64_t>::max();
  summary.parameters = 12345;
  summary.seconds = 2.5;
  summary.samples_per_second = 2560;
  summary.loss = 0.5;
  summary.consensus = Quality{.loss = 0.25, .accuracy = 0.875, .by_class = {0.75, 1}};
  summary.by_worker = {{.loss = 0.5, .accuracy = 0.75}, {.loss = 1.5, .accuracy = 0.25}};
  summary.curve = {{.progress = 50, .time = 1.25, .consensus = {.loss = 0.75}, .drift = 0.5}};
  summary.drift = 0.125;
  summary.figures = {{"p_reduce.bridges", 3}};
  summary.time = {{.compute = 1, .wait = 2, .exchange = 3, .hidden = 4}, {.compute = 5}};
  summary.bytes_sent_per_worker = 1e6;
  summary.lost = {"worker 1: \"gone\"\n"};
  summary.cluster = "a lab";
  summary.network = "alpha_beta";
  summary.warnings = {"mind the gap"};
  summary.links = {
      {.name = "rack 0 out", .bytes = 5, .busy = 2, .full = 1.25, .bytes_per_second = 4}};
  return summary;
}

TEST_F(RunFilesTest, WritesEveryFieldOfARecord) {
  RunFiles files(directory_);
  files.append(full_record());
  const Json expected = Json::parse(R"({
    "worker": 3, "step": 41, "progress": 42, "end": 1.5, "loss": 0.1, "learning_rate": 1e-5,
    "time": {"compute": 0.25, "wait": 0.5, "exchange": 0.125, "hidden": 0.0625},
    "bytes_sent": 5000000000, "messages_sent": 7, "group": [0, 3, 5]})");
  ASSERT_EQ(steps().size(), 1u);
  EXPECT_EQ(steps()[0], expected);
}

TEST_F(RunFilesTest, TellsTheMeetingWhereThereIsOne) {
  StepRecord record = full_record();
  record.meeting = 12345678901;
  RunFiles files(directory_);
  files.append(record);
  ASSERT_EQ(steps().size(), 1u);
  EXPECT_EQ(steps()[0]["meeting"], 12345678901);
  EXPECT_EQ(steps()[0]["group"], (Json{0, 3, 5}));
}

TEST_F(RunFilesTest, WritesAnEmptyGroup) {
  RunFiles files(directory_);
  files.append({});
  ASSERT_EQ(steps().size(), 1u);
  EXPECT_EQ(steps()[0]["group"], Json::array());
}

TEST_F(RunFilesTest, WritesNumbersThatAreNotFiniteAsNull) {
  StepRecord record = full_record();
  record.loss = kNotFinite;
  record.learning_rate = kEndless;
  record.time.wait = -kEndless;
  RunFiles files(directory_);
  files.append(record);
  ASSERT_EQ(steps().size(), 1u);
  EXPECT_TRUE(steps()[0]["loss"].is_null());
  EXPECT_TRUE(steps()[0]["learning_rate"].is_null());
  EXPECT_TRUE(steps()[0]["time"]["wait"].is_null());
}

TEST_F(RunFilesTest, KeepsNumbersToTheLastBit) {
  RunFiles files(directory_);
  const std::vector<double> numbers = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22};
  for (const double number : numbers) {
    StepRecord record;
    record.loss = number;
    files.append(record);
  }
  const std::vector<Json> read = steps();
  ASSERT_EQ(read.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(read[i]["loss"].get<double>(), numbers[i]);
}

TEST_F(RunFilesTest, KeepsLinesWholeAndInOrderWhenWorkersWriteAtOnce) {
  constexpr int kWorkers = 7;
  constexpr int kSteps = 1000;
  RunFiles files(directory_);
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < kWorkers; ++worker)
      workers.emplace_back([&files, worker] {
        for (int step = 0; step < kSteps; ++step) {
          StepRecord record = full_record();
          record.worker = {worker};
          record.step = {step};
          files.append(record);
        }
      });
  }
  files.close();
  std::vector<int> next(kWorkers, 0);
  for (const Json& record : steps()) EXPECT_EQ(record["step"], next[record["worker"]]++);
  EXPECT_EQ(next, std::vector<int>(kWorkers, kSteps));
}

TEST_F(RunFilesTest, LosesNothingWhenTheProcessEndsAbruptly) {
  const pid_t child = ::fork();
  if (child == 0) {
    RunFiles files(directory_);
    for (int step = 0; step < 100; ++step) files.append(full_record());
    ::_exit(0);  // No destructor and no flush of any buffer, as after a kill.
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(steps().size(), 100u);
  EXPECT_TRUE(text("steps.jsonl").ends_with("}\n"));
}

TEST_F(RunFilesTest, ReplacesTheFilesOfAnEarlierRun) {
  {
    RunFiles earlier(directory_);
    earlier.append(full_record());
    earlier.write_summary(full_summary(), "1");
  }
  RunFiles files(directory_);
  EXPECT_TRUE(steps().empty());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "summary.json"));
}

TEST_F(RunFilesTest, RefusesAFolderThatCannotBeMadeAndNamesIt) {
  scratch_.write("a", "a file in the way");
  try {
    RunFiles files(directory_);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(directory_.string()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Not a directory"), std::string::npos);
  }
}

TEST_F(RunFilesTest, RefusesAFolderThatExistsButTakesNoFiles) {
  try {
    RunFiles files("/proc/self");  // Refuses new files, even those of the superuser.
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'/proc/self'"), std::string::npos);
  }
}

TEST_F(RunFilesTest, RefusesAFolderWhereTheFilesNamesAreTaken) {
  std::filesystem::create_directories(directory_ / "steps.jsonl");
  EXPECT_THROW(RunFiles{directory_}, UsageError);
  std::filesystem::remove(directory_ / "steps.jsonl");
  std::filesystem::create_directories(directory_ / "summary.json" / "full");
  EXPECT_THROW(RunFiles{directory_}, UsageError);
}

TEST_F(RunFilesTest, NamesFileAndReasonWhenTheDiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_directories(directory_);
  std::filesystem::create_symlink("/dev/full", directory_ / "steps.jsonl");
  RunFiles files(directory_);
  try {
    files.append(full_record());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("steps.jsonl"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
  }
}

TEST_F(RunFilesTest, ClosesTwiceButTakesNoRecordAfterwards) {
  RunFiles files(directory_);
  files.append(full_record());
  files.close();
  files.close();
  EXPECT_THROW(files.append(full_record()), LogicError);
  EXPECT_EQ(steps().size(), 1u);
}

TEST_F(RunFilesTest, WritesEveryFieldOfTheSummary) {
  RunFiles files(directory_);
  files.write_summary(full_summary(), "1.2.3");
  Json written = summary();
  EXPECT_TRUE(written.at("machine").is_string());
  written.erase("machine");
  EXPECT_EQ(written, Json::parse(R"({
    "strategy": "ds_sync:group=4", "engine": "threads", "model": "mlp", "data": "digits",
    "split": "iid", "optimizer": "sgd", "status": "complete", "workers": 2, "batch": 32,
    "steps": 100, "steps_done": 90, "steps_taken": 180, "steps_by_worker": [45, 135],
    "share_by_worker": [0.25, 0.75], "rate_factor_by_worker": [2.0, 0.5],
    "seed": 18446744073709551615, "version": "1.2.3",
    "parameters": 12345, "seconds": 2.5, "samples_per_second": 2560.0, "loss": 0.5,
    "accuracy": {"consensus": 0.875, "worker_mean": 0.5, "worker_min": 0.25},
    "accuracy_by_class": [0.75, 1.0],
    "test_loss": {"consensus": 0.25, "worker_mean": 1.0},
    "curve": [{"progress": 50.0, "time": 1.25, "loss": 0.75, "accuracy": null, "drift": 0.5}],
    "figures": {"p_reduce.bridges": 3.0},
    "drift": 0.125, "bytes_sent_per_worker": 1e6, "cluster": "a lab", "network": "alpha_beta",
    "links": [{"name": "rack 0 out", "bytes": 5.0, "busy": 2.0, "full": 1.25,
               "bytes_per_second": 4.0}],
    "time": [{"worker": 0, "compute": 1.0, "wait": 2.0, "exchange": 3.0, "hidden": 4.0},
             {"worker": 1, "compute": 5.0, "wait": 0.0, "exchange": 0.0, "hidden": 0.0}],
    "lost": ["worker 1: \"gone\"\n"], "warnings": ["mind the gap"]})"));
}

TEST_F(RunFilesTest, WritesNullWhereTheSummaryHasNoFigure) {
  Summary empty;
  empty.loss = kNotFinite;
  RunFiles files(directory_);
  files.write_summary(empty, "1");
  const Json written = summary();
  const Json absent = {{"consensus", nullptr}, {"worker_mean", nullptr}, {"worker_min", nullptr}};
  EXPECT_EQ(written.at("accuracy"), absent);
  EXPECT_TRUE(written.at("test_loss").at("consensus").is_null());
  EXPECT_TRUE(written.at("test_loss").at("worker_mean").is_null());
  EXPECT_TRUE(written.at("drift").is_null());
  EXPECT_TRUE(written.at("loss").is_null());
  EXPECT_EQ(written.at("time"), Json::array());
  EXPECT_EQ(written.at("lost"), Json::array());
}

TEST_F(RunFilesTest, ReplacesAnEarlierSummaryAndLeavesNothingElseBehind) {
  RunFiles files(directory_);
  files.write_summary(full_summary(), "first");
  files.write_summary(full_summary(), "second");
  EXPECT_EQ(summary().at("version"), "second");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"steps.jsonl", "summary.json"}));
}

TEST_F(RunFilesTest, WritesASummaryWhoseTextsAreNotUtf8) {
  Summary broken = full_summary();
  broken.status = "failed: \xff";
  RunFiles files(directory_);
  files.write_summary(broken, "1");
  EXPECT_EQ(summary().at("status"), "failed: \xEF\xBF\xBD");
}

}  // namespace
}  // namespace huddle
