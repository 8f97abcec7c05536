#include "huddle/schedule/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "huddle/schedule/contraction.h"
#include "huddle/schedule/linear.h"

namespace huddle {
namespace {

using Kind = ScheduleOptions::Kind;

enum class Momentum { local, averaged };

void average(std::vector<double>& values, const Partition& partition) {
  for (const Group& group : partition) {
    double sum = 0;
    for (const WorkerId worker : group) sum += values[static_cast<std::size_t>(worker.value)];
    for (const WorkerId worker : group)
      values[static_cast<std::size_t>(worker.value)] = sum / group.size();
  }
}

// What the formulas predict, measured: noise as gradients, many independent coordinates.
double measured(const Schedule& schedule, double beta, Momentum momentum) {
  constexpr int kSteps = 4000, kCoordinates = 30, kWarmUp = 200;
  const auto workers = static_cast<std::size_t>(schedule.members().size());
  std::vector<std::vector<double>> models(kCoordinates, std::vector<double>(workers));
  std::vector<std::vector<double>> buffers = models;
  Random random(11);
  double sum = 0;
  for (int step = 0; step < kSteps + kWarmUp; ++step) {
    const Partition partition = schedule.partition(Step{step});
    for (std::size_t coordinate = 0; coordinate < kCoordinates; ++coordinate) {
      std::vector<double>& x = models[coordinate];
      std::vector<double>& v = buffers[coordinate];
      double mean = 0;
      for (std::size_t i = 0; i < workers; ++i) {
        v[i] = beta * v[i] + random.normal();
        x[i] -= v[i];
        mean += x[i] / static_cast<double>(workers);
      }
      average(x, partition);
      if (momentum == Momentum::averaged) average(v, partition);
      if (step < kWarmUp) continue;
      for (const double each : x) sum += (each - mean) * (each - mean);
    }
  }
  return sum / kSteps / kCoordinates / static_cast<double>(workers);
}

// W * matrix.
Matrix averaged_rows(const Matrix& matrix, const Partition& partition) {
  Matrix result(matrix.rows(), matrix.columns());
  for (const Group& group : partition)
    for (const WorkerId from : group)
      for (const WorkerId to : group)
        for (int column = 0; column < matrix.columns(); ++column)
          result(to.value, column) += matrix(from.value, column) / group.size();
  return result;
}

// W * matrix * W.
Matrix averaged_both(const Matrix& matrix, const Partition& partition) {
  return averaged_rows(transposed(averaged_rows(matrix, partition)), partition);
}

// What the formulas predict, computed with N x N covariances, period by period until they stay.
double dense(const Schedule& schedule, double beta, Momentum momentum) {
  const int workers = schedule.members().size();
  Matrix noise = Matrix::identity(workers);
  for (int i = 0; i < workers; ++i)
    for (int j = 0; j < workers; ++j) noise(i, j) -= 1.0 / workers;
  Matrix xx(workers, workers), xv = xx, vv = xx;
  double mean = 0, before = -1;
  while (std::abs(mean - before) > 1e-13) {
    before = std::exchange(mean, 0);
    for (std::int64_t step = 0; step < schedule.period(); ++step) {
      const Partition partition = schedule.partition(Step{step});
      vv.scale(beta * beta);  // Of buffers with the new gradient.
      vv.add(1, noise);
      xx.add(-beta, xv);
      xx.add(-beta, transposed(xv));
      xx.add(1, vv);
      xv.scale(beta);
      xv.add(-1, vv);
      xx = averaged_both(xx, partition);
      xv = averaged_rows(xv, partition);
      if (momentum == Momentum::averaged) {
        xv = transposed(averaged_rows(transposed(xv), partition));
        vv = averaged_both(vv, partition);
      }
      mean += diagonal_sum(xx) / workers / static_cast<double>(schedule.period());
    }
  }
  return mean;
}

DeviationVariance predicted(const Schedule& schedule, double beta) {
  return deviation_variance(schedule, beta).value();
}

TEST(DeviationVariance, MatchesTheTableOfTheSpecification) {
  const auto expect = [](const Schedule& schedule, double plain, double local, double averaged) {
    const DeviationVariance variance = predicted(schedule, 0.9);
    EXPECT_NEAR(variance.plain, plain, 5e-4);
    EXPECT_NEAR(variance.local_momentum, local, 5e-4);
    EXPECT_NEAR(variance.averaged_momentum, averaged, 5e-4);
  };
  expect(make_schedule({}, 4), 0.250, 1.316, 0.250);
  expect(make_schedule({.kind = Kind::exchange}, 8), 0.500, 3.816, 0.826);
  expect(make_schedule({}, 16), 0.1875, 0.987, 0.1875);
  expect(make_schedule({.kind = Kind::exchange}, 16), 0.6875, 6.520, 1.573);
  const auto plain = [](const ScheduleOptions& options, int workers) {
    return predicted(make_schedule(options, workers), 0.9).plain;
  };
  EXPECT_NEAR(plain({.radices = {2, 8}}, 16), 0.25, 1e-12);
  EXPECT_NEAR(plain({.kind = Kind::random, .group = 2}, 16), 0.820, 5e-4);
  EXPECT_NEAR(plain({.kind = Kind::random, .group = 4}, 16), 0.234, 5e-4);
  EXPECT_NEAR(plain({.kind = Kind::rotating, .topology = in_racks({4, 4})}, 8), 0.366, 5e-4);
  EXPECT_NEAR(plain({.kind = Kind::rotating, .topology = in_racks({4, 4, 4, 4})}, 16), 0.408, 5e-4);
}

TEST(DeviationVariance, OfRaggedGridsMatchesTheTableOfTheSpecification) {
  const std::vector<std::pair<int, double>> table = {
      {5, 0.340}, {7, 0.306}, {11, 0.236}, {13, 0.275}, {19, 0.187}};
  for (const auto& [workers, variance] : table)
    EXPECT_NEAR(predicted(make_schedule({}, workers), 0).plain, variance, 6e-4) << workers;
}

TEST(DeviationVariance, IsWhatNoiseShows) {
  for (const ScheduleOptions& options : std::vector<ScheduleOptions>{
           {},
           {.kind = Kind::exchange},
           {.kind = Kind::rotating, .topology = in_racks({4, 4})},
           {.kind = Kind::rotating, .topology = in_racks({4, 4}), .global_every = 3},
           {.kind = Kind::random, .group = 3, .seed = 2},
           {.kind = Kind::random, .group = 2, .global_every = 4}}) {
    const Schedule schedule = make_schedule(options, 8);
    const DeviationVariance plain = predicted(schedule, 0);
    EXPECT_NEAR(plain.plain, plain.local_momentum, 1e-9);
    EXPECT_NEAR(plain.plain, plain.averaged_momentum, 1e-9);
    EXPECT_NEAR(measured(schedule, 0, Momentum::local), plain.plain, 0.05 * plain.plain);
    const DeviationVariance variance = predicted(schedule, 0.7);
    EXPECT_NEAR(measured(schedule, 0.7, Momentum::local), variance.local_momentum,
                0.05 * variance.local_momentum);
    EXPECT_NEAR(measured(schedule, 0.7, Momentum::averaged), variance.averaged_momentum,
                0.05 * variance.averaged_momentum);
  }
}

TEST(DeviationVariance, IsThatOfDenseCovariances) {
  std::vector<Schedule> all;
  for (const int workers : {1, 3, 4, 5, 7, 8, 12, 13})
    for (const int every : {0, 1, 2, 3, 5, 8}) {
      all.push_back(make_schedule({.global_every = every}, workers));
      all.push_back(make_schedule({.kind = Kind::exchange, .global_every = every}, workers));
      if (every > 0)
        all.push_back(make_schedule({.kind = Kind::fixed, .global_every = every}, workers));
    }
  for (const int per_rack : {2, 3, 4})
    for (const int cross_every : {1, 2, 3})
      for (const int every : {0, 2, 3, 4, 7, 10})
        all.push_back(make_schedule({.kind = Kind::rotating,
                                     .topology = in_equal_racks({.racks = 3, .workers = per_rack}),
                                     .cross_every = cross_every,
                                     .global_every = every},
                                    3 * per_rack));
  all.emplace_back(rotating_pattern({.racks = 2, .per_rack = 2}), Group::everyone(4),
                   Schedule::Extras{.global_every = 5});
  all.emplace_back(table_pattern({{{0, 1, 2}, {3, 4}, {5, 6}}, {{0, 3, 5}, {1, 4, 6}, {2}}}),
                   Group::everyone(7), Schedule::Extras{.global_every = 4});
  all.emplace_back(
      table_pattern(
          {{{0, 1, 2}, {3, 4}, {5, 6}}, {{0, 3, 5}, {1, 4, 6}, {2}}, {{0, 6}, {1, 3}, {2, 4, 5}}}),
      Group::everyone(7), Schedule::Extras{.global_every = 3});
  for (const Schedule& schedule : all) {
    const DeviationVariance variance = predicted(schedule, 0.8);
    EXPECT_NEAR(variance.plain, dense(schedule, 0, Momentum::local), 1e-9);
    EXPECT_NEAR(variance.local_momentum, dense(schedule, 0.8, Momentum::local), 1e-9);
    EXPECT_NEAR(variance.averaged_momentum, dense(schedule, 0.8, Momentum::averaged), 1e-9);
  }
}

TEST(DeviationVariance, OfRandomGroupsHasAClosedForm) {
  for (const int size : {2, 3, 5, 11}) {
    const Schedule schedule = make_schedule({.kind = Kind::random, .group = size}, 11);
    const RandomPartition partition{.workers = 11, .groups = schedule.random()->groups};
    EXPECT_NEAR(predicted(schedule, 0.5).plain, deviation_variance(partition), 1e-12);
  }
}

TEST(DeviationVariance, IsZeroWhereAllAlwaysAverage) {
  for (const int workers : {1, 2, 5}) {
    const DeviationVariance variance = predicted(make_schedule({.global_every = 1}, workers), 0.9);
    EXPECT_EQ(variance.plain, 0);
    EXPECT_EQ(variance.local_momentum, 0);
    EXPECT_EQ(variance.averaged_momentum, 0);
  }
}

}  // namespace
}  // namespace huddle
