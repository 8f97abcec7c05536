#include "huddle/schedule/sectors.h"

#include <algorithm>
#include <cmath>

#include "huddle/schedule/linear.h"
#include "huddle/schedule/phase_space.h"

namespace huddle {
namespace {

// The squares of the overlaps between two phases: the eigenvalues of C^T D C, which is C^T C less
// its direction of equal values.
std::vector<double> squared_overlaps(const PhaseGroups& first, const PhaseGroups& second) {
  const std::vector<SharedMembers> shared = overlaps(first, second);
  const Matrix left = carried(shared, deviations(first), second.groups());
  constexpr double kRounding = 1e-13;
  std::vector<double> squares = eigenvalues(carried(shared, transposed(left), second.groups()));
  for (double& square : squares) square = square < kRounding ? 0 : std::min(square, 1.0);
  return squares;
}

std::vector<Sector> of_two_phases(const PhaseGroups& first, const PhaseGroups& second) {
  const SectorDirection horizontal{.own = 1};
  const int both = std::min(first.groups(), second.groups()) - 1;
  std::vector<Sector> sectors;
  const std::vector<double> squares = squared_overlaps(first, second);  // Largest first.
  for (int i = 0; i < both; ++i) {
    const double square = squares[static_cast<std::size_t>(i)];
    const double cosine = std::sqrt(square);
    const double sine = std::sqrt(1 - square);
    const SectorDirection slanted{.even = cosine, .own = sine - cosine, .index = 1};
    sectors.push_back({.dimension = 2, .turn = {horizontal, slanted}});
  }
  if (first.groups() - 1 > both)
    sectors.push_back({.copies = static_cast<double>(first.groups() - 1 - both),
                       .turn = {horizontal, SectorDirection()}});
  if (second.groups() - 1 > both)
    sectors.push_back({.copies = static_cast<double>(second.groups() - 1 - both),
                       .turn = {SectorDirection(), horizontal}});
  return sectors;
}

std::vector<Sector> of_rotation(const RotatingPattern& pattern) {
  const double m = pattern.per_rack;
  Sector equal_racks{.copies = 1, .dimension = pattern.per_rack, .turn = {}, .shift = 1};
  Sector unequal_racks = equal_racks;
  unequal_racks.copies = pattern.racks - 1;
  const double apart = std::sqrt(m / (m - 1));
  equal_racks.turn.push_back({.even = -apart / m, .own = apart});
  const double others = 1 / std::sqrt(m - 1);
  unequal_racks.turn.push_back({.even = others, .own = -others});
  for (int phase = 1; phase < pattern.cross_every; ++phase) {
    equal_racks.turn.emplace_back();
    unequal_racks.turn.push_back({.even = 1 / std::sqrt(m)});
  }
  return {equal_racks, unequal_racks};
}

}  // namespace

SectorDirection Sector::at(std::int64_t cycle_step) const {
  return SectorWalk(*this, cycle_step).next();
}

double Sector::overlap(const SectorDirection& a, const SectorDirection& b) const {
  return dimension * a.even * b.even + a.even * b.own + b.even * a.own +
         (a.index == b.index ? a.own * b.own : 0);
}

double Sector::within_turn() const {
  double left = turn.front().is_nothing() ? 0 : 1;
  for (std::size_t phase = 1; phase < turn.size(); ++phase)
    left *= overlap(turn[phase - 1], turn[phase]);
  return left;
}

double Sector::across_turn() const {
  return within_turn() * overlap(turn.back(), at(static_cast<std::int64_t>(turn.size())));
}

SectorWalk::SectorWalk(const Sector& sector, std::int64_t cycle_step)
    : sector_(sector),
      phase_(static_cast<std::size_t>(cycle_step) % sector.turn.size()),
      moved_(static_cast<int>(cycle_step / std::ssize(sector.turn) % sector.dimension *
                              sector.shift % sector.dimension)) {}

SectorDirection SectorWalk::next() {
  SectorDirection direction = sector_.turn[phase_];
  direction.index += moved_;
  if (direction.index >= sector_.dimension) direction.index -= sector_.dimension;
  if (++phase_ == sector_.turn.size()) {
    phase_ = 0;
    moved_ += sector_.shift;
    if (moved_ >= sector_.dimension) moved_ -= sector_.dimension;
  }
  return direction;
}

bool never_mixes(const std::vector<Sector>& sectors) {
  constexpr double kRounding = 1e-14;
  return std::any_of(sectors.begin(), sectors.end(), [](const Sector& sector) {
    return std::abs(sector.across_turn()) > 1 - kRounding;
  });
}

std::optional<std::vector<Sector>> sectors_of(const Schedule& schedule) {
  if (const auto* rotating = std::get_if<RotatingPattern>(&schedule.pattern()))
    return of_rotation(*rotating);
  if (schedule.cycle() != 2) return std::nullopt;
  const PhaseSpace space(schedule);
  if (space.commutes()) return std::nullopt;
  return of_two_phases(space.phase(0), space.phase(1));
}

}  // namespace huddle
