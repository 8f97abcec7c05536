#include "huddle/report/timeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

using Json = nlohmann::json;

// Everything that the format demands of an event of this phase.
void expect_well_formed(const Json& event) {
  const std::string phase = event.at("ph");
  for (const char* key : {"pid", "tid"})
    EXPECT_TRUE(event.at(key).is_number_integer()) << key << " in " << event;
  EXPECT_TRUE(event.at("name").is_string()) << event;
  if (phase == "M") {
    EXPECT_TRUE(event.at("args").contains("name") || event.at("args").contains("sort_index"));
    return;
  }
  EXPECT_GE(event.at("ts").get<double>(), 0) << event;
  if (phase == "X")
    EXPECT_GE(event.at("dur").get<double>(), 0) << event;
  else if (phase == "C")
    EXPECT_TRUE(event.at("args").at("bytes/s").is_number()) << event;
  else
    ADD_FAILURE() << "a phase that nobody expects: " << event;
}

Nanoseconds exactly(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

// The slices of a track lie inside one another or apart, and begin in the order of the file.
void expect_nested(const std::vector<Json>& events) {
  std::map<int, std::vector<Interval>> open;  // By thread, from the outermost.
  std::map<int, Nanoseconds> last;
  for (const Json& event : events) {
    if (event.at("ph") != "X") continue;
    const int thread = event.at("tid");
    const Nanoseconds begin = exactly(event.at("ts"));
    const Interval slice{begin, begin + exactly(event.at("dur"))};
    EXPECT_GE(slice.begin, last[thread]) << event;
    last[thread] = slice.begin;
    std::vector<Interval>& outer = open[thread];
    while (!outer.empty() && outer.back().end <= slice.begin) outer.pop_back();
    if (!outer.empty()) {
      EXPECT_LE(slice.end, outer.back().end) << event;
    }
    outer.push_back(slice);
  }
}

class TimelineTest : public testing::Test {
 protected:
  Json trace() const {
    std::ifstream file(path_);
    return Json::parse(file);
  }

  // All events, checked.
  std::vector<Json> events() const {
    const std::vector<Json> all = trace().at("traceEvents");
    for (const Json& event : all) expect_well_formed(event);
    expect_nested(all);
    return all;
  }

  std::vector<Json> of_phase(const char* phase) const {
    std::vector<Json> found = events();
    std::erase_if(found, [&](const Json& event) { return event.at("ph") != phase; });
    return found;
  }

  // "step 0 [0, 10)", one for each slice of a thread.
  std::vector<std::string> slices(int thread) const {
    std::vector<std::string> found;
    for (const Json& event : of_phase("X"))
      if (event.at("tid") == thread)
        found.push_back(fmt::format("{} [{}, {})", event.at("name").get<std::string>(),
                                    event.at("ts").get<double>(),
                                    event.at("ts").get<double>() + event.at("dur").get<double>()));
    return found;
  }

  const ScratchFolder scratch_;
  const std::filesystem::path path_ = scratch_.path() / "trace.json";
};

constexpr Time kMicrosecond = 1e-6;

TimelineSubject subject(int workers) {
  return {.strategy = "bsp", .engine = "sim", .version = "1.2.3", .workers = workers};
}

StepRecord step_of(int worker, int step, Time began, Time ended) {
  return {.worker = {worker},
          .step = {step},
          .loss = 0.5,
          .bytes_sent = 400,
          .group = Group::everyone(4),
          .began = began * kMicrosecond,
          .ended = ended * kMicrosecond};
}

Exchange exchange(Time begin, Time end) {
  return {.begin = begin * kMicrosecond, .end = end * kMicrosecond, .bytes_sent = 100};
}

Blocked blocked(Time from, Time first_bytes, Time to, std::vector<Exchange> exchanges = {}) {
  return {from * kMicrosecond, first_bytes * kMicrosecond, to * kMicrosecond, std::move(exchanges)};
}

TEST_F(TimelineTest, CutsAStepIntoComputingWaitingAndExchanging) {
  TimelineFile timeline(path_, subject(4));
  StepRecord record = step_of(1, 7, 10, 20);
  record.blocked = {blocked(12, 13, 15), blocked(18, 18, 19.5)};
  timeline.add(record);
  timeline.close();
  EXPECT_EQ(slices(2000),
            (std::vector<std::string>{"step 7 [10, 20)", "compute [10, 12)", "wait [12, 13)",
                                      "exchange a: 0-3 [13, 15)", "compute [15, 18)",
                                      "exchange a: 0-3 [18, 19.5)", "compute [19.5, 20)"}));
  const Json arguments = of_phase("X").front().at("args");
  EXPECT_EQ(arguments, (Json{{"step", 7}, {"loss", 0.5}, {"bytes", 400}, {"group", "0-3"}}));
}

TEST_F(TimelineTest, DrawsExchangesInFlightThatOverlapOnTracksOfTheirOwn) {
  TimelineFile timeline(path_, subject(4));
  StepRecord record = step_of(0, 0, 0, 10);
  record.blocked = {blocked(8, 8, 9, {exchange(1, 6), exchange(3, 9), exchange(6, 7)}),
                    blocked(9, 9, 10, {exchange(9, 10)})};  // The last one hides nothing.
  timeline.add(record);
  timeline.close();
  EXPECT_EQ(slices(1001),
            (std::vector<std::string>{"in flight a: 0-3 [1, 6)", "in flight a: 0-3 [6, 7)"}));
  EXPECT_EQ(slices(1002), (std::vector<std::string>{"in flight a: 0-3 [3, 9)"}));
  EXPECT_EQ(slices(1003), std::vector<std::string>());
  const std::vector<Json> names = of_phase("M");
  EXPECT_EQ(std::count_if(names.begin(), names.end(),
                          [](const Json& event) {
                            return event.at("name") == "thread_name" &&
                                   event.at("args").at("name") == "worker 0 in flight";
                          }),
            2);
}

TEST_F(TimelineTest, DrawsWhatIsWaitedForAfterTheLastStep) {
  TimelineFile timeline(path_, subject(1));
  timeline.add(step_of(0, 0, 0, 10));
  timeline.add_finish(WorkerId{0}, std::vector{blocked(11, 12, 12), blocked(14, 14, 15)});
  timeline.add_finish(WorkerId{0}, {});
  timeline.close();
  EXPECT_EQ(slices(1000),
            (std::vector<std::string>{"step 0 [0, 10)", "compute [0, 10)", "finish [11, 15)",
                                      "wait [11, 12)", "exchange [14, 15)"}));
}

TEST_F(TimelineTest, KeepsSlicesNestedWhateverTheTimes) {
  TimelineFile timeline(path_, subject(2));
  const Time late = 1e6 + 1. / 3;  // Virtual times may be large, and none is a round number.
  StepRecord record = step_of(1, 3, 0, 0);
  record.began = late;
  record.ended = late + 1e-9 / 3;
  timeline.add(record);
  record.began = record.ended;
  record.ended = late + 0.1;
  record.blocked = {{late + 0.01 / 7, late + 0.02 / 7, late + 0.03 / 7, {}},
                    {late + 0.03 / 7, late + 0.03 / 7, late + 0.2, {}}};  // Past the end.
  record.loss = std::numeric_limits<double>::quiet_NaN();
  timeline.add(record);
  timeline.close();
  const std::vector<Json> drawn = of_phase("X");
  ASSERT_GE(drawn.size(), 5u);
  EXPECT_TRUE(drawn[2].at("args").at("loss").is_null()) << drawn[2];
  EXPECT_NEAR(drawn.back().at("ts").get<double>(), (late + 0.03 / 7) * 1e6, 1e-2);
}

TEST(GroupName, TellsGroupsOfOneMomentApartByTheirLetters) {
  const auto group = [](std::vector<int> members) {
    std::vector<WorkerId> workers;
    for (const int member : members) workers.push_back(WorkerId{member});
    return group_name(Group(workers));
  };
  EXPECT_EQ(group({}), "");
  EXPECT_EQ(group({5}), "");
  EXPECT_EQ(group({0, 1, 2, 3}), "a: 0-3");
  EXPECT_EQ(group({4, 6, 7, 12}), "e: 4,6-7,12");
  EXPECT_EQ(group({26, 30}), "ba: 26,30");
  std::vector<int> even;
  for (int worker = 0; worker < 100; worker += 2) even.push_back(worker);
  EXPECT_EQ(group(even), "a: 0,2,4,6,8,10,12,14,16,18,20,22,... (50)");
}

TEST_F(TimelineTest, ShowsWhatEachLinkCarries) {
  TimelineSubject network = subject(2);
  network.links = {"worker 0 out", "worker 1 in"};
  TimelineFile timeline(path_, network);
  timeline.add(std::vector<LinkLoad>{{0, 0, 0.5, 0}, {1, 0, 1, 0}});
  timeline.add(std::vector<LinkLoad>{{0, 0.5, 1, 20}, {1, 1, 2, 10}});
  timeline.add(std::vector<LinkLoad>{{0, 1, 2, 20}});         // As before.
  timeline.add(std::vector<LinkLoad>{{0, 2, 2 + 1e-10, 5}});  // Too short to be seen.
  timeline.add(std::vector<LinkLoad>{{0, 2, 3, 0}, {1, 2, 3, 0}});
  timeline.add(std::vector<LinkLoad>{{0, 3, 7, 30.4}});
  timeline.close();
  using Curve = std::vector<std::pair<double, int>>;
  std::map<std::string, Curve> curves;
  for (const Json& event : of_phase("C"))
    curves[event.at("name")].emplace_back(event.at("ts").get<double>() * 1e-6,
                                          event.at("args").at("bytes/s"));
  EXPECT_EQ(curves["worker 0 out"], (Curve{{0.5, 20}, {2, 0}, {3, 30}, {7, 0}}));
  EXPECT_EQ(curves["worker 1 in"], (Curve{{1, 10}, {2, 0}}));
}

TEST_F(TimelineTest, DrawsTheLinksOfALongRunCoarserAndLosesNoByte) {
  constexpr int kLoads = 1'000'000;
  TimelineSubject network = subject(1);
  network.links = {"only"};
  double bytes = 0;
  {
    TimelineFile timeline(path_, network);
    for (int i = 0; i < kLoads; ++i) {
      const LinkLoad load{0, i * 1e-3, (i + 1) * 1e-3, i % 977 * 1e3};
      bytes += load.bytes_per_second * 1e-3;
      timeline.add({&load, 1});
    }
    timeline.close();
  }
  // Read by hand: there are too many events for a tree of them.
  int changes = 0;
  double area = 0;
  double at = 0;
  double value = 0;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    const std::size_t moment = line.find("\"ts\":");
    if (moment == std::string::npos) continue;
    const double now = std::stod(line.substr(moment + 5)) * 1e-6;
    area += value * (now - at);
    at = now;
    value = std::stod(line.substr(line.find("\"bytes/s\":") + 10));
    ++changes;
  }
  EXPECT_EQ(value, 0);
  EXPECT_NEAR(area / bytes, 1, 1e-6);
  EXPECT_GT(changes, 400'000);
  EXPECT_LT(changes, 650'000);
}

TEST_F(TimelineTest, SaysWhatItIsOf) {
  TimelineSubject hostile = subject(1);
  hostile.strategy = "bsp:\"\\\n\xff";
  hostile.links = {"a \"link\"\n\\"};
  {
    TimelineFile timeline(path_, hostile);
    timeline.add(std::vector<LinkLoad>{{0, 0, 1, 5}});
  }  // Completed without being closed.
  EXPECT_EQ(trace().at("otherData").at("strategy"), "bsp:\"\\\n\xef\xbf\xbd");
  EXPECT_EQ(trace().at("otherData").at("program"), "huddle 1.2.3");
  EXPECT_EQ(trace().at("otherData").at("time"), "real");
  EXPECT_EQ(of_phase("C").front().at("name"), "a \"link\"\n\\");
  { TimelineFile(path_, subject(3)); }
  EXPECT_EQ(trace().at("otherData").at("links"), "none: this engine does not tell them");
  EXPECT_EQ(of_phase("M").size(), 2u + 2u * 3u);
}

TEST_F(TimelineTest, IsWholeFromTheStartAndDrawnOfItsLogWhenTheProcessWasKilled) {
  EXPECT_EQ(([&] {
              TimelineFile timeline(path_, subject(1));
              return events().size();
            }()),
            4u);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TimelineFile timeline(path_, subject(1));
    for (int step = 0; step < 5000; ++step) timeline.add(step_of(0, step, step, step + 1));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(events().size(), 4u);
  draw_timeline(path_);
  EXPECT_THROW(draw_timeline(path_), UsageError) << "the log stayed";
  EXPECT_GT(events().size(), 9000u);
  EXPECT_LT(events().size(), 10'000u) << "nothing was lost, so nothing was left open to lose";
}

TEST_F(TimelineTest, TakesRecordsOfSeveralWorkersAtOnceAndCountsItsTime) {
  constexpr int kSteps = 2000;
  TimelineFile timeline(path_, subject(4));
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker)
    workers.emplace_back([&timeline, worker] {
      for (int step = 0; step < kSteps; ++step) {
        StepRecord record = step_of(worker, step, 10 * step, 10 * step + 10);
        const Time from = 10 * step;
        record.blocked = {blocked(from + 5, from + 5, from + 6, {exchange(from + 1, from + 6)})};
        timeline.add(record);
      }
    });
  for (std::thread& worker : workers) worker.join();
  timeline.close();
  EXPECT_GT(timeline.seconds_inside(), 0);
  EXPECT_LT(timeline.seconds_inside(), 60);
  EXPECT_EQ(of_phase("X").size(), 4u * kSteps * 5);
  for (const int thread : {1000, 1001, 4000}) EXPECT_GE(slices(thread).size(), std::size_t{kSteps});
}

TEST_F(TimelineTest, RefusesAFileThatCannotBeWritten) {
  for (const char* path : {"/nowhere/to/be/found.json", "/", "/dev/full"}) {
    try {
      TimelineFile timeline(path, subject(1));
      ADD_FAILURE() << path;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
}

TEST_F(TimelineTest, FailsWithTheNextStepWhenTheDiskIsFullAndLeavesAWholeFile) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A file may not grow past a limit, as on a disk that is full.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      TimelineFile timeline(path_, subject(1));
      for (int step = 0; step < 5000; ++step) timeline.add(step_of(0, step, step, step + 1));
    } catch (const Error&) {
      ::_exit(17);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 17);
  EXPECT_GT(events().size(), 500u);
}

TEST_F(TimelineTest, DrawsALogThatWasCutOffAsFarAsItGoes) {
  const auto log = timeline_log_of(path_);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TimelineFile timeline(path_, subject(1));
    StepRecord record = step_of(0, 0, 0, 10);
    record.blocked = {blocked(8, 8, 9, {exchange(1, 6)})};
    for (int step = 0; step < 5000; ++step) timeline.add(record);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const auto all = std::filesystem::file_size(log);
  for (const std::uintmax_t cut : {1, 7, 50, 90, 130, 170, 200}) {
    const auto other = timeline_log_of(scratch_.path() / "cut.json");
    std::filesystem::copy_file(log, other);
    std::filesystem::resize_file(other, all - cut);
    draw_timeline(scratch_.path() / "cut.json");
    EXPECT_GT(std::filesystem::file_size(scratch_.path() / "cut.json"), 100'000u) << cut;
  }
}

TEST_F(TimelineTest, LeavesAloneWhatIsNoLog) {
  const auto log = timeline_log_of(path_);
  std::ofstream(log) << "somebody's own words\n";
  EXPECT_THROW(TimelineFile(path_, subject(1)), UsageError);
  EXPECT_THROW(draw_timeline(path_), UsageError);
  EXPECT_EQ(std::filesystem::file_size(log), 21u);
}

}  // namespace
}  // namespace huddle
