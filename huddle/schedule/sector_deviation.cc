#include "huddle/schedule/sector_deviation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace huddle {
namespace {

// A vector of a sector that fades as a whole and grows along one direction at a time, each in a
// handful of operations: it is scale * (even * (1, ..., 1) + own).
class FadingVector {
 public:
  explicit FadingVector(int dimension) : own_(static_cast<std::size_t>(dimension)) {}

  double along(const SectorDirection& direction) const {
    if (is_zero_) return 0;
    const double sum = static_cast<double>(own_.size()) * even_ + sum_own_;
    return scale_ * (direction.even * sum + direction.own * (even_ + own(direction)));
  }

  void fade(double factor) {
    if (is_zero_) return;
    scale_ *= factor;
    if (std::abs(scale_) < kSmall) rescale();
  }

  void add(double length, const SectorDirection& direction) {
    if (direction.is_nothing()) return;
    is_zero_ = false;
    even_ += length * direction.even / scale_;
    own_[static_cast<std::size_t>(direction.index)] += length * direction.own / scale_;
    sum_own_ += length * direction.own / scale_;
  }

 private:
  static constexpr double kSmall = 1e-100;

  double own(const SectorDirection& direction) const {
    return own_[static_cast<std::size_t>(direction.index)];
  }

  // Before the scale leaves the range of numbers.
  void rescale() {
    even_ *= scale_;
    sum_own_ *= scale_;
    for (double& each : own_) each *= scale_;
    is_zero_ = scale_ == 0;
    scale_ = 1;
  }

  double scale_ = 1;
  double even_ = 0;
  double sum_own_ = 0;
  std::vector<double> own_;
  bool is_zero_ = true;
};

// The covariances of one sector, step by step.
class Covariances {
 public:
  Covariances(const Sector& sector, std::int64_t cycle_step, double beta)
      : sector_(sector), walk_(sector, cycle_step), beta_(beta), local_xv_(sector.dimension) {}

  // One step more; returns by what factor the variances of x that were there still count.
  double step() {
    const SectorDirection now = walk_.next();
    const double overlap = sector_.overlap(before_, now);
    const double factor = overlap * overlap;
    const double noise = now.is_nothing() ? 0 : 1;
    const double buffer = noise / (1 - beta_ * beta_);

    x_.plain = factor * x_.plain + noise;

    const double bvv = beta_ * beta_ * vv_;
    x_.averaged_momentum = factor * (x_.averaged_momentum - 2 * beta_ * xv_ + bvv) + noise;
    xv_ = factor * (beta_ * xv_ - bvv) - noise;
    vv_ = factor * bvv + noise;

    x_.local_momentum =
        factor * x_.local_momentum - 2 * overlap * beta_ * local_xv_.along(now) + buffer;
    local_xv_.fade(overlap * beta_);
    local_xv_.add(-buffer, now);

    before_ = now;
    return factor;
  }

  const DeviationVariance& variance() const { return x_; }

  // Forgets the variances of x, but nothing else.
  void forget_variance() { x_ = {}; }

 private:
  const Sector& sector_;
  SectorWalk walk_;
  const double beta_;
  SectorDirection before_;
  DeviationVariance x_;
  double xv_ = 0;
  double vv_ = 0;
  FadingVector local_xv_;
};

// The mean over all steps, where every `every`-th averages all. The cycle goes on behind a global
// average where it was, every - 1 phases further each time.
DeviationVariance between_globals(const Sector& sector, int every, double beta) {
  const auto phases = static_cast<int>(sector.turn.size());
  const int stride = std::gcd(every - 1, phases);
  const double share = static_cast<double>(stride) / phases / every;
  DeviationVariance mean;
  for (int start = 0; start < phases; start += stride) {
    Covariances covariances(sector, start, beta);
    DeviationVariance sum;
    for (int done = 0; done + 1 < every; ++done) {
      covariances.step();
      add(sum, 1, covariances.variance());
    }
    add(mean, share, sum);
  }
  return mean;
}

// The mean over a turn, once every turn is like the one before.
DeviationVariance stationary(const Sector& sector, double beta) {
  constexpr double kForgotten = 1e-20;
  const auto phases = static_cast<std::int64_t>(sector.turn.size());
  const auto memory =
      beta > 0 ? static_cast<std::int64_t>(std::log(kForgotten) / std::log(beta)) : 0;
  Covariances covariances(sector, 0, beta);
  for (std::int64_t step = 0; step < (memory / phases + 2) * phases; ++step) covariances.step();
  covariances.forget_variance();
  double factor = 1;
  double factors = 0;
  DeviationVariance sum;
  for (std::int64_t phase = 0; phase < phases; ++phase) {
    factor *= covariances.step();
    factors += factor;
    add(sum, 1, covariances.variance());
  }
  // A turn makes factor * x + gained of the variance x that it begins with.
  DeviationVariance mean;
  add(mean, 1. / static_cast<double>(phases), sum);
  add(mean, factors / (1 - factor) / static_cast<double>(phases), covariances.variance());
  return mean;
}

}  // namespace

DeviationVariance sector_deviation(const std::vector<Sector>& sectors, const Schedule& schedule,
                                   double beta) {
  DeviationVariance variance;
  const int every = schedule.global_every();
  for (const Sector& sector : sectors)
    add(variance, sector.copies / schedule.members().size(),
        every > 0 ? between_globals(sector, every, beta) : stationary(sector, beta));
  return variance;
}

}  // namespace huddle
