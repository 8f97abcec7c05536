// The phases of a schedule that do not commute, taken apart until each is a single direction.
//
// A phase is the projection W onto the vectors that are equal inside its groups (phase_space.h). A
// *sector* is a subspace that no phase leaves, orthogonal to the vectors that are equal everywhere,
// and so small that in it every phase is a a^T for one unit vector a, its direction, or nothing.
// A product of phases is then a chain of overlaps,
//
//   W_s ... W_t  =  a_s (a_s . a_{s+1}) ... (a_{t-1} . a_t) a_t^T,
//
// and everything that mixing.h and deviation.h ask of it costs a few operations a step, whatever
// the number of workers. Two families have sectors:
//
//   two phases   any two projections have common ones, by the angles between them: as many as the
//                phases have groups, with the singular values of B_0^T B_1 as overlaps
//   rotating     racks x workers of a rack. What is equal in all racks: a crossing leaves index j
//                apart from the others, one direction; a rack's average leaves nothing. What sums
//                up to 0 over racks, (racks - 1) copies: a crossing leaves all indices but j equal,
//                a rack's average leaves all of them equal.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "huddle/schedule/schedule.h"

namespace huddle {

// even * (1, ..., 1) + own * (the unit vector of `index`); all zeros for a phase that leaves
// nothing.
struct SectorDirection {
  double even = 0;
  double own = 0;
  int index = 0;

  bool is_nothing() const { return even == 0 && own == 0; }
};

struct Sector {
  double copies = 1;  // So many subspaces are like this one.
  int dimension = 1;
  std::vector<SectorDirection> turn = {};  // Of the first phases of the cycle.
  int shift = 0;  // With each turn `index` moves on by so much, modulo the dimension.

  SectorDirection at(std::int64_t cycle_step) const;
  double overlap(const SectorDirection& a, const SectorDirection& b) const;

  // What is left of a disagreement by the phases of one turn, from its first to its last, and to
  // the first of the next.
  double within_turn() const;
  double across_turn() const;
};

// Visits the directions of a sector one after another, without a division.
class SectorWalk {
 public:
  SectorWalk(const Sector& sector, std::int64_t cycle_step);
  SectorDirection next();

 private:
  const Sector& sector_;
  std::size_t phase_;
  int moved_;
};

// Whether some disagreement survives every phase of the cycle.
bool never_mixes(const std::vector<Sector>& sectors);

// All sectors of a schedule, of the cycle without its global averages; nothing where phases
// commute, are random, or are three and more in a table.
std::optional<std::vector<Sector>> sectors_of(const Schedule& schedule);

}  // namespace huddle
