#include "huddle/schedule/deviation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/schedule/contraction.h"
#include "huddle/schedule/phase_space.h"
#include "huddle/schedule/sector_deviation.h"
#include "huddle/schedule/sectors.h"

namespace huddle {
namespace {

// The mean over a period of `variance_after(step)`, once it has become the same for period after
// period. Geometric: at most a few hundred periods for any schedule worth training with.
double stationary_mean(std::int64_t period,
                       const std::function<double(std::int64_t)>& variance_after) {
  constexpr double kTolerance = 1e-14;
  constexpr int kMostPeriods = 100000;
  double before = -1;
  double mean = 0;
  std::int64_t step = 0;
  for (int count = 0; count < kMostPeriods && std::abs(mean - before) > kTolerance * mean;
       ++count) {
    before = mean;
    double sum = 0;
    for (std::int64_t phase = 0; phase < period; ++phase) sum += variance_after(step++);
    mean = sum / static_cast<double>(period);
  }
  return mean;
}

// The share of a worker's update that is left after phase `last` and so many before it, where
// phases commute: it has been averaged over the components that they form. The list ends where one
// component is left, or where the cycle would begin anew.
std::vector<double> left_by_components(const PhaseSpace& space, int last) {
  Components components(space.workers());
  std::vector<double> left;
  for (int i = 0; i < space.cycle() && components.count() > 1; ++i) {
    join(components, space.phase((last - i + space.cycle()) % space.cycle()));
    left.push_back((components.count() - 1.0) / space.workers());
  }
  return left;
}

// Where phases commute, the update of m steps ago adds what is left of it times a weight that
// depends on momentum alone. All updates since the last global average count, or, without such
// averages, those of a cycle, which leaves nothing of older ones.
DeviationVariance by_components(const PhaseSpace& space, double beta) {
  const int cycle = space.cycle();
  const int every = space.global_every();
  const int most = every > 0 ? every - 1 : cycle;
  // After a global average the cycle goes on where it was: every - 1 phases further each time.
  const int stride = every > 0 ? std::gcd(every - 1, cycle) : cycle;
  const double share = every > 0 ? static_cast<double>(stride) / cycle / every : 1.0 / cycle;
  DeviationVariance mean;
  for (int last = 0; last < cycle; ++last) {
    const std::vector<double> left = left_by_components(space, last);
    DeviationVariance variance;  // After so many phases since the last global average.
    double power = 1;            // beta^(m + 1).
    for (int m = 0; m < most && !left.empty(); ++m) {
      power *= beta;
      const double accumulated = (1 - power) / (1 - beta);
      add(variance, left[std::min(static_cast<std::size_t>(m), left.size() - 1)],
          {.plain = 1,
           .local_momentum = (2 * accumulated - 1) / (1 - beta * beta),
           .averaged_momentum = accumulated * accumulated});
      const bool occurs = every > 0 ? (last - m) % stride == 0 : m + 1 == most;
      if (occurs) add(mean, share, variance);
    }
  }
  return mean;
}

// C^T matrix C.
Matrix sandwiched(const std::vector<SharedMembers>& overlaps, const Matrix& matrix, int groups) {
  return carried(overlaps, transposed(carried(overlaps, matrix, groups)), groups);
}

// Models x and buffers v with v' = W(beta v + g), x' = W(x - beta v - g): the covariances of their
// deviations in the coordinates of the last phase's groups. All three stay symmetric.
double averaged_momentum(const PhaseSpace& space, double beta) {
  const auto size = [&](std::int64_t step) { return space.at(step).groups(); };
  const int start = size(space.period() - 1);
  Matrix xx(start, start), xv(start, start), vv(start, start);
  return stationary_mean(space.period(), [&](std::int64_t step) {
    const std::vector<SharedMembers> next =
        overlaps(space.at(step + space.period() - 1), space.at(step));
    Matrix gg = sandwiched(next, vv, size(step));
    gg.scale(beta * beta);
    gg.add(1, deviations(space.at(step)));
    const Matrix old_xv = sandwiched(next, xv, size(step));
    xx = sandwiched(next, xx, size(step));
    xx.add(-2 * beta, old_xv);
    xx.add(1, gg);
    xv = old_xv;
    xv.scale(beta);
    xv.add(-1, gg);
    vv = std::move(gg);
    return diagonal_sum(xx) / space.workers();
  });
}

// Adds factor * B^T (I - J), groups by workers.
void add_noise(Matrix& matrix, double factor, const PhaseGroups& phase) {
  for (int group = 0; group < phase.groups(); ++group) {
    const double root = std::sqrt(phase.sizes[static_cast<std::size_t>(group)]);
    for (int worker = 0; worker < phase.workers(); ++worker) {
      const bool inside = phase.group_of[static_cast<std::size_t>(worker)] == group;
      matrix(group, worker) += factor * ((inside ? 1 / root : 0.0) - root / phase.workers());
    }
  }
}

// matrix * B: columns of workers become columns of groups.
Matrix gathered(const Matrix& matrix, const PhaseGroups& phase) {
  Matrix result(matrix.rows(), phase.groups());
  for (int row = 0; row < matrix.rows(); ++row)
    for (int worker = 0; worker < phase.workers(); ++worker) {
      const int group = phase.group_of[static_cast<std::size_t>(worker)];
      result(row, group) +=
          matrix(row, worker) / std::sqrt(phase.sizes[static_cast<std::size_t>(group)]);
    }
  return result;
}

// Buffers are v' = beta v + g, of variance 1/(1 - beta^2) and never mixed, so their covariance with
// the models keeps one column for each worker; x' = W(x - v').
double local_momentum(const PhaseSpace& space, double beta) {
  const double buffer_variance = 1 / (1 - beta * beta);
  const int start = space.at(space.period() - 1).groups();
  Matrix xx(start, start), xv(start, space.workers());
  return stationary_mean(space.period(), [&](std::int64_t step) {
    const PhaseGroups& phase = space.at(step);
    const std::vector<SharedMembers> next = overlaps(space.at(step + space.period() - 1), phase);
    xv = carried(next, xv, phase.groups());
    xv.scale(beta);
    const Matrix crossed = gathered(xv, phase);
    xx = sandwiched(next, xx, phase.groups());
    xx.add(-1, crossed);
    xx.add(-1, transposed(crossed));
    xx.add(buffer_variance, deviations(phase));
    add_noise(xv, -buffer_variance, phase);
    return diagonal_sum(xx) / space.workers();
  });
}

// Random groups treat all workers alike, so every expected covariance is a multiple of I - J, and
// a step multiplies it by the contraction (0 in a step that averages all).
DeviationVariance of_random(const Schedule& schedule, double beta) {
  const RandomPattern& random = *schedule.random();
  const double left =
      contraction(RandomPartition{.workers = random.members, .groups = random.groups});
  const double spread = 1 - 1.0 / random.members;
  const int every = schedule.global_every();
  const auto factor = [&](std::int64_t step) {
    return every > 0 && (step + 1) % every == 0 ? 0 : left;
  };
  const auto averaged = [&](double momentum) {
    double xx = 0, xv = 0, vv = 0;
    return stationary_mean(std::max(every, 1), [&, momentum](std::int64_t step) mutable {
      const double gg = momentum * momentum * vv + 1;
      xx = factor(step) * (xx - 2 * momentum * xv + gg);
      xv = factor(step) * (momentum * xv - gg);
      vv = factor(step) * gg;
      return xx * spread;
    });
  };
  double xx = 0, xv = 0;
  const double buffer_variance = 1 / (1 - beta * beta);
  const double local = stationary_mean(std::max(every, 1), [&](std::int64_t step) {
    xx = factor(step) * (xx - 2 * beta * xv + buffer_variance);
    xv = factor(step) * (beta * xv - buffer_variance);
    return xx * spread;
  });
  return {.plain = averaged(0), .local_momentum = local, .averaged_momentum = averaged(beta)};
}

}  // namespace

void add(DeviationVariance& sum, double factor, const DeviationVariance& other) {
  sum.plain += factor * other.plain;
  sum.local_momentum += factor * other.local_momentum;
  sum.averaged_momentum += factor * other.averaged_momentum;
}

std::optional<DeviationVariance> deviation_variance(const Schedule& schedule, double beta) {
  check(beta >= 0 && beta < 1, "momentum outside [0, 1)");
  if (const RandomPattern* random = schedule.random()) {
    const bool alone = random->groups == random->members && random->members > 1;
    if (alone && schedule.global_every() == 0) return std::nullopt;
    return of_random(schedule, beta);
  }
  if (const auto sectors = sectors_of(schedule)) {
    if (schedule.global_every() == 0 && never_mixes(*sectors)) return std::nullopt;
    return sector_deviation(*sectors, schedule, beta);
  }
  const PhaseSpace space(schedule);
  if (space.components() > 1) return std::nullopt;
  if (space.commutes()) return by_components(space, beta);
  return DeviationVariance{.plain = averaged_momentum(space, 0),
                           .local_momentum = local_momentum(space, beta),
                           .averaged_momentum = averaged_momentum(space, beta)};
}

double deviation_at_meetings(const Schedule& schedule, const DeviationVariance& variance) {
  const Schedule::Meetings& meetings = schedule.meetings();
  const double newest = meetings.late ? 1 - 1.0 / schedule.members().size() : 0;
  return static_cast<double>(meetings.every) * (variance.plain + newest);
}

}  // namespace huddle
