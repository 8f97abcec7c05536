#include "huddle/schedule/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>

#include "huddle/schedule/traffic.h"
#include "tests/support/dense_mixing.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

Schedule table(std::vector<std::vector<Positions>> phases) {
  TablePattern pattern = table_pattern(std::move(phases));
  const Group members = Group::everyone(pattern.workers());
  return Schedule(std::move(pattern), members);
}

Schedule rotating(int racks, int per_rack, int cross_every = 1) {
  return make_schedule({.kind = Kind::rotating,
                        .topology = in_equal_racks({.racks = racks, .workers = per_rack}),
                        .cross_every = cross_every},
                       racks * per_rack);
}

std::vector<Schedule> samples() {
  std::vector<Schedule> all;
  for (const int workers : {1, 2, 3, 4, 6, 7, 8, 12, 13, 22, 23, 36, 97, 256}) {
    all.push_back(make_schedule({}, workers));
    all.push_back(make_schedule({.kind = Kind::exchange}, workers));
    all.push_back(make_schedule({.kind = Kind::fixed, .global_every = 3}, workers));
  }
  for (const int cross_every : {1, 2, 5}) all.push_back(rotating(3, 4, cross_every));
  for (const int every : {2, 3, 5}) {
    all.push_back(make_schedule({.global_every = every}, 13));
    all.push_back(make_schedule({.kind = Kind::exchange, .global_every = every}, 16));
    all.push_back(make_schedule({.kind = Kind::rotating,
                                 .topology = in_racks({3, 3}),
                                 .cross_every = 2,
                                 .global_every = every},
                                6));
  }
  all.push_back(
      make_schedule({.kind = Kind::rotating, .topology = in_racks({4, 4}), .global_every = 3}, 8));
  all.push_back(make_schedule({.kind = Kind::halves}, 20));
  all.push_back(table({{{0, 1, 2}, {3, 4}, {5, 6}}, {{0, 3, 5}, {1, 4, 6}, {2}}}));
  return all;
}

TEST(Mixing, AgreesWithDenseProducts) {
  for (const Schedule& schedule : samples()) {
    const Mixing mixing = analyse_mixing(schedule, 0.9);
    const std::int64_t period = schedule.period();
    EXPECT_NEAR(mixing.mixing_factor, window_norm(schedule, {.first = 0, .length = period}), 1e-9);
  }
}

TEST(Mixing, FindsTheSmallestWindowThatIsAlwaysExact) {
  for (const Schedule& schedule : samples()) {
    if (schedule.members().size() > 100) continue;
    const std::int64_t period = schedule.period();
    std::optional<int> expected;
    for (int length = 1; length <= 2 * period && !expected; ++length) {
      bool exact = true;
      for (int first = 0; exact && first < period; ++first)
        exact = window_norm(schedule, {.first = first, .length = length}) < 1e-7;
      if (exact) expected = length;
    }
    EXPECT_EQ(analyse_mixing(schedule, 0).exact_window, expected);
  }
}

TEST(Mixing, OfGridsIsExactInAsManyStepsAsRadices) {
  for (const std::vector<int>& radices : std::vector<std::vector<int>>{
           {4}, {2, 3}, {3, 4}, {4, 4}, {2, 3, 4}, {3, 3, 3}, {2, 2, 2, 2, 2}, {4, 4, 4}}) {
    const Schedule schedule(grid_pattern(radices),
                            Group::everyone(grid_pattern(radices).workers()));
    const int digits = static_cast<int>(radices.size());
    EXPECT_EQ(analyse_mixing(schedule, 0).exact_window, digits);
    for (int first = 0; first < digits; ++first) {
      const Matrix product = window_product(schedule, {.first = first, .length = digits});
      for (int i = 0; i < product.rows(); ++i)
        for (int j = 0; j < product.columns(); ++j)
          ASSERT_NEAR(product(i, j), 1.0 / product.rows(), 1e-12);
    }
  }
}

TEST(Mixing, PreservesMeans) {
  for (const Schedule& schedule : samples()) {
    const Matrix product = window_product(schedule, {.first = 0, .length = schedule.period()});
    for (int i = 0; i < product.rows(); ++i) {
      double row = 0, column = 0;
      for (int j = 0; j < product.rows(); ++j) {
        row += product(i, j);
        column += product(j, i);
      }
      ASSERT_NEAR(row, 1, 1e-12);
      ASSERT_NEAR(column, 1, 1e-12);
    }
  }
}

TEST(Mixing, OfRaggedGridsFollowsFromTheirEmptyCells) {
  for (const int workers : {3, 5, 7, 11, 13, 19})
    EXPECT_NEAR(analyse_mixing(make_schedule({}, workers), 0).mixing_factor,
                1 / std::sqrt(workers + 1.0), 1e-12);
  EXPECT_NEAR(analyse_mixing(make_schedule({}, 22), 0).mixing_factor, std::sqrt(2 / 24.0), 1e-12);
}

TEST(Mixing, LeavesAtMostHalfForAnyNumberOfWorkers) {
  for (int workers = 1; workers <= 200; ++workers)
    for (const Kind kind : {Kind::grid, Kind::exchange}) {
      const Mixing mixing = analyse_mixing(make_schedule({.kind = kind}, workers), 0);
      EXPECT_LE(mixing.mixing_factor, 0.5 + 1e-12) << workers;
      EXPECT_FALSE(mixing.never_mixes);
    }
}

TEST(Mixing, OfRotatingRacksDependsOnTheirSizeAlone) {
  for (const int per_rack : {3, 4, 8})
    for (const int racks : {2, 3, 5})
      EXPECT_NEAR(analyse_mixing(rotating(racks, per_rack), 0).mixing_factor,
                  std::pow((per_rack - 2.0) / (per_rack - 1.0), per_rack - 1), 1e-12);
  for (const int racks : {2, 3, 7})
    EXPECT_NEAR(analyse_mixing(rotating(racks, 2, 2), 0).mixing_factor, std::sqrt(1 / 8.0), 1e-12);
}

TEST(Mixing, RecognisesIslands) {
  const auto never = [](const Schedule& schedule) {
    const Mixing mixing = analyse_mixing(schedule, 0.9);
    if (mixing.never_mixes) {
      EXPECT_EQ(mixing.mixing_factor, 1);
      EXPECT_FALSE(mixing.exact_window || mixing.deviation);
    }
    return mixing.never_mixes;
  };
  EXPECT_TRUE(never(make_schedule({.kind = Kind::fixed}, 16)));
  EXPECT_TRUE(never(table({{{0, 1}, {2, 3}}, {{0}, {1}, {2, 3}}})));
  EXPECT_TRUE(never(Schedule(rotating_pattern({.racks = 2, .per_rack = 2}), Group::everyone(4))));
  EXPECT_TRUE(never(Schedule(RandomPattern{.members = 4, .groups = 4}, Group::everyone(4))));
  EXPECT_FALSE(never(make_schedule({.kind = Kind::fixed, .global_every = 50}, 16)));
  EXPECT_FALSE(never(make_schedule({.kind = Kind::fixed}, 1)));
  EXPECT_FALSE(never(table({{{0, 1}, {2}}, {{0}, {1, 2}}})));
}

TEST(Mixing, OfRandomGroupsContractsAsPredicted) {
  for (const int size : {2, 4, 8}) {
    const Schedule schedule = make_schedule({.kind = Kind::random, .group = size, .seed = 1}, 16);
    Random random(7);
    double before = 0, after = 0;
    for (int step = 0; step < 4000; ++step) {
      double values[16], mean = 0;
      for (double& value : values) mean += (value = random.normal()) / 16;
      for (const double value : values) before += (value - mean) * (value - mean);
      for (const Group& group : schedule.partition(Step{step})) {
        double sum = 0;
        for (const WorkerId worker : group) sum += values[worker.value];
        after += group.size() * std::pow(sum / group.size() - mean, 2);
      }
    }
    const double predicted = (16.0 / size - 1) / 15;
    EXPECT_NEAR(after / before, predicted, 0.03 * predicted);
    EXPECT_NEAR(std::pow(analyse_mixing(schedule, 0).mixing_factor, 2), predicted, 1e-12);
  }
}

// Of the processor: the machine may be busy.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Mixing, OfAThousandWorkersIsWhatTheFormulasSay) {
  EXPECT_EQ(analyse_mixing(make_schedule({}, 1024), 0.9).exact_window, 2);
  EXPECT_EQ(analyse_mixing(make_schedule({.kind = Kind::exchange}, 1024), 0.9).exact_window, 10);
  EXPECT_NEAR(analyse_mixing(make_schedule({}, 1021), 0.9).mixing_factor, std::sqrt(2 / 1023.0),
              1e-9);
  EXPECT_NEAR(analyse_mixing(rotating(32, 32), 0.9).mixing_factor, std::pow(30 / 31.0, 31), 1e-9);
}

// What takes longest of all that the options allow: periods of millions and billions of steps.
// Each costs less than the norms of 200 small matrices, and those take about 2 s.
TEST(Mixing, OfAThousandWorkersNeverGoesThroughThePeriod) {
  std::vector<Schedule> all;
  for (const int every : {0, 20, 10000}) {
    for (const int workers : {61, 1021, 1024})
      for (const Kind kind : {Kind::grid, Kind::exchange, Kind::random})
        all.push_back(make_schedule({.kind = kind, .global_every = every}, workers));
    for (const int per_rack : {4, 32, 512})
      for (const int cross_every : {1, 997})
        all.push_back(make_schedule(
            {.kind = Kind::rotating,
             .topology = in_equal_racks({.racks = 1024 / per_rack, .workers = per_rack}),
             .cross_every = cross_every,
             .global_every = every},
            1024));
  }
  all.push_back(make_schedule({.kind = Kind::fixed, .global_every = 10000}, 1024));
  const Matrix matrix =
      window_product(make_schedule({.kind = Kind::random}, 256), {.first = 0, .length = 2});
  const double norm = seconds_of([&] { spectral_norm(matrix); });
  for (const Schedule& schedule : all) {
    const double taken = seconds_of([&] {
      analyse_mixing(schedule, 0.9);
      schedule_traffic(schedule);
    });
    EXPECT_LT(taken, 200 * norm) << schedule.members().size() << " workers, a period of "
                                 << schedule.period() << " steps";
  }
}

}  // namespace
}  // namespace huddle
