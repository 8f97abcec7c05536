#include "huddle/schedule/phase_space.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// Groups p and q that meet, and in how many workers.
struct Meeting {
  int from = 0;
  int to = 0;
  int position = 0;  // One of those workers.
  int common = 0;
};

std::vector<Meeting> meetings(const PhaseGroups& from, const PhaseGroups& to) {
  std::vector<Meeting> places;
  for (int position = 0; position < from.workers(); ++position)
    places.push_back({from.group_of[static_cast<std::size_t>(position)],
                      to.group_of[static_cast<std::size_t>(position)], position, 1});
  std::sort(places.begin(), places.end(), [](const Meeting& a, const Meeting& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  std::vector<Meeting> found;
  for (const Meeting& place : places) {
    if (!found.empty() && found.back().from == place.from && found.back().to == place.to) {
      ++found.back().common;
    } else {
      found.push_back(place);
    }
  }
  return found;
}

bool two_commute(const PhaseGroups& a, const PhaseGroups& b) {
  Components components(a.workers());
  join(components, a);
  join(components, b);
  for (const Meeting& meeting : meetings(a, b)) {
    const auto product = std::int64_t{a.sizes[static_cast<std::size_t>(meeting.from)]} *
                         b.sizes[static_cast<std::size_t>(meeting.to)];
    if (std::int64_t{meeting.common} * components.size(meeting.position) != product) return false;
  }
  return true;
}

bool all_commute(const std::vector<PhaseGroups>& phases) {
  for (std::size_t a = 0; a < phases.size(); ++a)
    for (std::size_t b = a + 1; b < phases.size(); ++b)
      if (!two_commute(phases[a], phases[b])) return false;
  return true;
}

PhaseGroups groups_of(const Partition& partition, const Group& members) {
  PhaseGroups phase;
  phase.group_of.resize(static_cast<std::size_t>(members.size()));
  for (const Group& group : partition) {
    for (const WorkerId worker : group)
      phase.group_of[static_cast<std::size_t>(members.position_of(worker))] = phase.groups();
    phase.sizes.push_back(group.size());
  }
  return phase;
}

}  // namespace

Matrix deviations(const PhaseGroups& phase) {
  Matrix matrix = Matrix::identity(phase.groups());
  for (int a = 0; a < phase.groups(); ++a)
    for (int b = 0; b < phase.groups(); ++b)
      matrix(a, b) -= std::sqrt(static_cast<double>(phase.sizes[static_cast<std::size_t>(a)]) *
                                phase.sizes[static_cast<std::size_t>(b)]) /
                      phase.workers();
  return matrix;
}

std::vector<SharedMembers> overlaps(const PhaseGroups& from, const PhaseGroups& to) {
  std::vector<SharedMembers> list;
  for (const Meeting& meeting : meetings(from, to))
    list.push_back(
        {meeting.from, meeting.to,
         meeting.common /
             std::sqrt(static_cast<double>(from.sizes[static_cast<std::size_t>(meeting.from)]) *
                       to.sizes[static_cast<std::size_t>(meeting.to)])});
  return list;
}

Matrix carried(const std::vector<SharedMembers>& overlaps, const Matrix& matrix, int groups) {
  Matrix result(groups, matrix.columns());
  for (const SharedMembers& overlap : overlaps) {
    double* const to = result.row(overlap.to);
    const double* const from = matrix.row(overlap.from);
    for (int column = 0; column < matrix.columns(); ++column)
      to[column] += overlap.weight * from[column];
  }
  return result;
}

void join(Components& workers, const PhaseGroups& phase) {
  std::vector<int> first(static_cast<std::size_t>(phase.groups()), -1);
  for (int position = 0; position < phase.workers(); ++position) {
    int& leader =
        first[static_cast<std::size_t>(phase.group_of[static_cast<std::size_t>(position)])];
    if (leader < 0) leader = position;
    workers.join(leader, position);
  }
}

PhaseSpace::PhaseSpace(const Schedule& schedule)
    : period_(schedule.period()), global_every_(schedule.global_every()) {
  check(schedule.random() == nullptr, "random groups have no cycle of phases");
  Components components(schedule.members().size());
  for (int index = 0; index < schedule.cycle(); ++index) {
    phases_.push_back(groups_of(schedule.cycle_phase(index), schedule.members()));
    join(components, phases_.back());
  }
  commutes_ = all_commute(phases_);  // One group of all commutes with everything.
  phases_.push_back(groups_of({schedule.members()}, schedule.members()));
  components_ = global_every_ > 0 ? 1 : components.count();
}

int PhaseSpace::index_at(std::int64_t step) const {
  if (global_every_ == 0) return static_cast<int>(step % cycle());
  if ((step + 1) % global_every_ == 0) return cycle();
  return static_cast<int>((step - step / global_every_) % cycle());
}

}  // namespace huddle
