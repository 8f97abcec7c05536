// A schedule: which workers average together in which step, as a pure function that every worker
// computes for itself without a message.
//
// A *phase* is a partition of all members into groups. Phases follow one another in a cycle; with
// global_every = H, steps H-1, 2H-1, ... are one group of all members, and the cycle goes on in the
// other steps as if these did not exist (so no phase is lost when H is a multiple of the cycle).
// Why groups that change are enough, and how fast: mixing.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/base/ids.h"
#include "huddle/schedule/schedule_kinds.h"
#include "huddle/schedule/schedule_options.h"

namespace huddle {

// Disjoint groups that cover all members, ordered by their smallest member. Workers that sit out
// are groups of one.
using Partition = std::vector<Group>;

class Schedule {
 public:
  struct Extras {
    int global_every = 0;   // 0: never.
    std::string note = "";  // See note().
  };

  // When its groups meet in a run. Told by whoever uses the schedule; its own steps count meetings.
  struct Meetings {
    std::int64_t every = 1;  // After every so-manieth step of training.
    bool late = false;       // What a group averages arrives at the next meeting only.
    double bytes = 1;        // Of all averages, on the wire, for each byte of the model.
    int averages = 1;        // One after another: buckets of the model, of state beside it.
  };

  // The member at position i takes the pattern's place i. Throws UsageError where the period is
  // longer than can be counted. REQUIRES: as many members as the pattern has places.
  Schedule(SchedulePattern pattern, Group members, Extras extras);
  Schedule(SchedulePattern pattern, Group members)
      : Schedule(std::move(pattern), std::move(members), Extras()) {}

  // The group that averages with `worker` in `step`, itself included. Costs as much as the group is
  // large. REQUIRES: the worker is a member, the step is not negative.
  Group group_of(WorkerId worker, Step step) const;

  // All groups of `step`.
  Partition partition(Step step) const;

  // Steps until everything repeats, or 0 for random groups, which never do. For a cycle of k phases
  // and global_every = H it is H * k / gcd(H - 1, k): so many steps hold whole cycles. It may be
  // far longer than any run.
  std::int64_t period() const { return period_; }

  // The groups of step `phase` and of each step that is a multiple of the period later.
  Partition phase(std::int64_t phase) const { return partition(Step{phase}); }

  // The cycle without global averages: its length (0 for random groups), its phases, which of them
  // a step uses (-1 in a step that averages all), and how many of them there are but for a change
  // of names (schedule_kinds.h).
  std::int64_t cycle() const;
  Partition cycle_phase(std::int64_t phase) const;
  std::int64_t cycle_step(Step step) const;
  int turn() const;

  const Group& members() const { return members_; }
  int global_every() const { return extras_.global_every; }

  const SchedulePattern& pattern() const { return pattern_; }

  // The pattern if it is a random one, else null.
  const RandomPattern* random() const { return std::get_if<RandomPattern>(&pattern_); }

  Schedule with(const Meetings& meetings) const;
  const Meetings& meetings() const { return meetings_; }

  // By which of its steps workers meet after `step` of training; nothing where they do not.
  std::optional<Step> meeting(Step step) const;

  // Puts a sentence before the note.
  Schedule with_note(const std::string& sentence) const;

  // In sentences: what was chosen where the options leave a choice, or seem to say something else;
  // else empty.
  const std::string& note() const { return extras_.note; }

 private:
  Positions positions_of(int position, std::int64_t cycle_step) const;
  Partition partition_at(std::int64_t cycle_step) const;
  Group members_at(const Positions& positions) const;

  SchedulePattern pattern_;
  Group members_;
  Extras extras_;
  Meetings meetings_;
  std::int64_t period_ = 0;
};

// A schedule for workers 0..workers-1. Every number of workers from 1 on has a
// schedule of kinds grid, exchange, random and fixed. Throws UsageError with the reason and a value
// that works when the options contradict the number of workers.
Schedule make_schedule(const ScheduleOptions& options, int workers);

}  // namespace huddle
