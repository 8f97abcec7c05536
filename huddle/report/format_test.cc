#include "huddle/report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(FormatSeconds, ChoosesTheUnitByMagnitude) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(2.5e-6), "2.5 µs");
  EXPECT_EQ(format_seconds(1.2e-3), "1.2 ms");
  EXPECT_EQ(format_seconds(0.34), "340 ms");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(72), "1 m 12 s");
  EXPECT_EQ(format_seconds(7500), "2 h 5 m");
  EXPECT_EQ(format_seconds(3 * 86400 + 4 * 3600), "3 d 4 h");
  EXPECT_EQ(format_seconds(1000 * 86400.0), "1000 d 0 h");
}

TEST(FormatSeconds, TakesTheLargerUnitWhereRoundingReachesIt) {
  EXPECT_EQ(format_seconds(999.6e-6), "1.0 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.0 s");
  EXPECT_EQ(format_seconds(59.94), "59.9 s");
  EXPECT_EQ(format_seconds(59.97), "1 m 0 s");
  EXPECT_EQ(format_seconds(119.6), "2 m 0 s");
  EXPECT_EQ(format_seconds(3599.4), "59 m 59 s");
  EXPECT_EQ(format_seconds(3599.6), "1 h 0 m");
  EXPECT_EQ(format_seconds(86399), "1 d 0 h");
}

TEST(FormatSeconds, KeepsSignAndNonFiniteValues) {
  EXPECT_EQ(format_seconds(-0.34), "-340 ms");
  EXPECT_EQ(format_seconds(kInfinity), "inf s");
  EXPECT_EQ(format_seconds(kNan), "nan s");
}

TEST(FormatBytes, UsesDecimalUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(999.7), "1.0 kB");
  EXPECT_EQ(format_bytes(1000), "1.0 kB");
  EXPECT_EQ(format_bytes(1234567), "1.2 MB");
  EXPECT_EQ(format_bytes(99.96e6), "100 MB");
  EXPECT_EQ(format_bytes(999.9e6), "1.0 GB");
  EXPECT_EQ(format_bytes(2.5e12), "2.5 TB");
  EXPECT_EQ(format_bytes(4e18), "4000 PB");
  EXPECT_EQ(format_bytes(-2000), "-2.0 kB");
  EXPECT_EQ(format_bytes(kInfinity), "inf B");
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(FormatRate, GrowsCoarserWithSize) {
  EXPECT_EQ(format_rate(0), "0.0");
  EXPECT_EQ(format_rate(3.46), "3.5");
  EXPECT_EQ(format_rate(99.97), "100");
  EXPECT_EQ(format_rate(12345.6), "12,346");
  EXPECT_EQ(format_rate(1e300), "1e+300");
  EXPECT_EQ(format_rate(kInfinity), "inf");
  EXPECT_EQ(format_rate(kNan), "nan");
}

TEST(FormatPercent, RoundsToTheGivenDecimals) {
  EXPECT_EQ(format_percent(0), "0.0 %");
  EXPECT_EQ(format_percent(0.625), "62.5 %");
  EXPECT_EQ(format_percent(0.91236, 2), "91.24 %");
  EXPECT_EQ(format_percent(1, 0), "100 %");
  EXPECT_EQ(format_percent(-kNan), "nan %");
}

TEST(FormatFigure, ShowsFourSignificantDigits) {
  EXPECT_EQ(format_figure(0.312), "0.3120");
  EXPECT_EQ(format_figure(12.5), "12.50");
  EXPECT_EQ(format_figure(0), "0.000");
  EXPECT_EQ(format_figure(999.97), "1000");
  EXPECT_EQ(format_figure(1234.4), "1234");
  EXPECT_EQ(format_figure(1234567), "1.235e+06");
  EXPECT_EQ(format_figure(-0.5), "-0.5000");
  EXPECT_EQ(format_figure(kNan), "nan");
  EXPECT_EQ(format_figure(-kNan), "nan");
  EXPECT_EQ(format_figure(-kInfinity), "-inf");
}

class MachineDescription : public testing::Test {
 protected:
  void write(const char* name, const char* content) { scratch_.write(name, content); }

  const ScratchFolder scratch_;
  const std::filesystem::path& proc_ = scratch_.path();
};

TEST_F(MachineDescription, NamesProcessorCoresAndMemory) {
  write("cpuinfo",
        "processor\t: 0\nmodel name\t: Quick 9000\n\nprocessor\t: 1\nmodel name\t: Quick 9000\n");
  write("meminfo", "MemTotal:       16000000 kB\nMemFree:        1 kB\n");
  EXPECT_EQ(machine_description(proc_), "Quick 9000, 2 cores, 16.4 GB memory");
}

TEST_F(MachineDescription, LeavesOutWhatIsNotTold) {
  write("cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n");
  EXPECT_EQ(machine_description(proc_), "1 core");
}

TEST_F(MachineDescription, IsUnknownWhereNothingCanBeRead) {
  EXPECT_EQ(machine_description(proc_), "unknown");
  EXPECT_EQ(machine_description(proc_ / "missing"), "unknown");
  write("cpuinfo", "model name");
  write("meminfo", "MemTotal:\n");
  EXPECT_EQ(machine_description(proc_), "unknown");
}

TEST(WorkerAccuracy, TakesMeanAndSmallestOfThoseThatHaveOne) {
  Summary summary;
  EXPECT_FALSE(worker_accuracy(summary));
  summary.by_worker = {{.loss = 1, .accuracy = {}}};
  EXPECT_FALSE(worker_accuracy(summary));
  summary.by_worker = {
      {.loss = 1, .accuracy = 0.75}, {.loss = 1, .accuracy = {}}, {.loss = 1, .accuracy = 0.25}};
  ASSERT_TRUE(worker_accuracy(summary));
  EXPECT_DOUBLE_EQ(worker_accuracy(summary)->mean, 0.5);
  EXPECT_DOUBLE_EQ(worker_accuracy(summary)->smallest, 0.25);
}

TEST(SecondsPerStep, CountsTheStepsOfAllWorkers) {
  EXPECT_EQ(seconds_per_step({.workers = 4, .steps_taken = 40, .seconds = 10}), 1);
  EXPECT_EQ(seconds_per_step({.workers = 4, .steps_taken = 0, .seconds = 10}), std::nullopt);
}

TEST(WorkerTestLoss, IsTheMeanOverWorkers) {
  Summary summary;
  EXPECT_FALSE(worker_test_loss(summary));
  summary.by_worker = {{.loss = 1, .accuracy = {}}, {.loss = 4, .accuracy = {}}};
  EXPECT_DOUBLE_EQ(*worker_test_loss(summary), 2.5);
  summary.by_worker.push_back({.loss = kNan, .accuracy = {}});
  EXPECT_TRUE(std::isnan(*worker_test_loss(summary)));
}

}  // namespace
}  // namespace huddle
