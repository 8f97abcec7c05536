// What is worth knowing of the groups that formed: sizes, staleness, how well they mixed, who
// worked how much.
//
// Asking for the figures costs N^3 operations, for rho (meeting_rates.h).

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/strategy/p_reduce/meeting_rates.h"

namespace huddle {

class GroupLog {
 public:
  // REQUIRES: workers >= 1.
  explicit GroupLog(int workers);

  void stepped(WorkerId worker) { ++steps_[static_cast<std::size_t>(worker.value)]; }
  void add(const FormedGroup& group);

  // The member took no part in this group after all. If it is in a later one, or was withdrawn
  // before, nothing changes.
  void withdraw(GroupId group, WorkerId member);

  // The worker is gone: how well the groups mix is asked for the others.
  void lost(WorkerId worker) { meetings_.lost(worker); }

  // Whether the former holds, from `now` on. Moments are told in order.
  void holding(bool holds, Time now);

  // By name, each behind `prefix`:
  //   groups, aborted, bridges, holds, held_s, longest_apart      counts, and seconds held
  //   group_size, groups_of.3                                     the mean, and groups of that
  //                                                               size; aborted ones too
  //   staleness, staleness_max, staleness.2                       of members: mean, largest, how
  //                                                               many so far behind the newest
  //   rho, rho_random                                             of these groups, of random ones
  //   share.5                                                     of all steps, by that worker
  std::map<std::string, double> figures(const std::string& prefix,
                                        const GroupFormerCounters& counters) const;

 private:
  struct Latest {
    GroupId group{-1};
    std::int64_t staleness = 0;
  };

  Latest& latest_of(WorkerId worker) { return latest_[static_cast<std::size_t>(worker.value)]; }
  void forget_if_past(GroupId group);

  std::vector<std::int64_t> steps_;                 // By worker.
  std::map<std::size_t, std::int64_t> sizes_;       // Groups of each size.
  std::map<std::int64_t, std::int64_t> staleness_;  // Members of each.
  MeetingRates meetings_;
  std::vector<Latest> latest_;  // By worker.
  // Whoever took part in the groups that somebody may still abort: those that are a member's
  // latest.
  std::map<GroupId, std::vector<WorkerId>> members_;
  bool holds_ = false;
  Time held_since_ = 0;
  Seconds held_ = 0;
};

}  // namespace huddle
