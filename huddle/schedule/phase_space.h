// A schedule's phases as linear maps, each written in the coordinates of its own groups.
//
// One phase multiplies by W, the block matrix with 1/|g| inside each group g: an orthogonal
// projection onto the vectors that are constant in groups. With one orthonormal vector 1_g/sqrt|g|
// for each of r groups as columns of B, W = B B^T, and W_0 W_1 ... W_k = B_0 C_01 C_12 ... B_k^T
// where C_pq = B_p^T B_q has an entry |p & q| / sqrt(|p| |q|) for groups that meet. So products of
// phases are r x r and sparse, never N x N. Many schedules are simpler still: where phases commute,
// as those of a grid do, a product of phases averages over the connected components of their
// groups, and counting components answers everything.

#pragma once

#include <cstdint>
#include <vector>

#include "huddle/base/components.h"
#include "huddle/schedule/linear.h"
#include "huddle/schedule/schedule.h"

namespace huddle {

// One partition: the group of each position, and the groups' sizes.
struct PhaseGroups {
  std::vector<int> group_of;
  std::vector<int> sizes;

  int workers() const { return static_cast<int>(group_of.size()); }
  int groups() const { return static_cast<int>(sizes.size()); }
};

// I - u u^T in the coordinates of the groups, with u the direction of equal values: what W - J is.
Matrix deviations(const PhaseGroups& phase);

// C_pq as a list.
struct SharedMembers {
  int from = 0;
  int to = 0;
  double weight = 0;
};
std::vector<SharedMembers> overlaps(const PhaseGroups& from, const PhaseGroups& to);

// C_pq^T * matrix, whose rows are coordinates of phase p; `groups` is how many phase q has.
Matrix carried(const std::vector<SharedMembers>& overlaps, const Matrix& matrix, int groups);

// Joins the workers of each group.
void join(Components& workers, const PhaseGroups& phase);

// All phases of a schedule, each once.
class PhaseSpace {
 public:
  // REQUIRES: the schedule is not random.
  explicit PhaseSpace(const Schedule& schedule);

  int workers() const { return phases_.front().workers(); }
  int cycle() const { return static_cast<int>(phases_.size()) - 1; }
  std::int64_t period() const { return period_; }
  int global_every() const { return global_every_; }

  // Phases 0..cycle()-1 are those of the cycle, phase cycle() is one group of all workers.
  const PhaseGroups& phase(int index) const { return phases_[static_cast<std::size_t>(index)]; }
  int index_at(std::int64_t step) const;
  const PhaseGroups& at(std::int64_t step) const { return phase(index_at(step)); }

  // Whether every two phases commute: |p & q| * |component| = |p| |q| wherever groups p and q meet.
  bool commutes() const { return commutes_; }

  // How many components all phases together leave. A schedule mixes if it is one: a vector that no
  // phase shrinks is constant in every group, hence in every component.
  int components() const { return components_; }

 private:
  std::vector<PhaseGroups> phases_;
  std::int64_t period_;
  int global_every_;
  bool commutes_;
  int components_;
};

}  // namespace huddle
