// The controller of P-Reduce: a service beside one worker that tells those who are ready with whom
// to average.
//
//   worker                         controller                      other members
//     ready  ───────────────────▶    queue, group former
//                                    a group is complete
//     ◀──────────── assignment ───   ─── assignment ───────────────▶
//     ◀───────────────── the average, among themselves ────────────▶
//
// It sees control messages alone, never a parameter, and never waits for a group: many average at
// once. A step costs its worker two control messages. It needs no clock and decides nothing itself,
// that is the group former's work; it knows who waits for a reply, and who is gone.
//
// A worker is gone when the engine says so, or when a peer lost it in the middle of an average (a
// cut link looks like a death to both ends). Without the second, two workers that cannot reach one
// another would be paired again and again. One that was given up and yet lives is told so.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "huddle/strategy/p_reduce/assignment.h"
#include "huddle/strategy/p_reduce/group_former.h"
#include "huddle/strategy/p_reduce/group_log.h"
#include "huddle/strategy/shares.h"
#include "huddle/transport/requests.h"

namespace huddle {

struct Request {
  enum class Kind {
    ready,  // Took a step and waits for a group.
    abort,  // Lost a peer of its group, kept its own model and waits for another group.
    leave,  // Takes no further part.
  };

  Kind kind = Kind::ready;
  int life = 0;                // See Incarnation.
  std::int64_t iteration = 0;  // Of one that is ready, after its step.
  GroupId group = {};          // That was aborted,
  WorkerId lost = {};          // and because of whom.

  static auto fields(auto& self) {
    return std::tie(self.kind, self.life, self.iteration, self.group, self.lost);
  }
};

struct ControllerOptions {
  GroupFormerOptions former;
  WeightRule weights;
  bool balances = false;          // Those who take fewer steps learn at a higher rate.
  std::int64_t steps_before = 0;  // Of all workers, in the run that this one resumes.
};

// One reply to one request. An assignment to nobody tells a worker that it has been given up: a
// peer reported it lost.
struct Reply {
  WorkerId to;
  std::int64_t number = 0;  // Of the request.
  Assignment given;
};

// Used by one thread at a time: by the program while it runs, after it by its worker.
class Controller {
 public:
  // Throws UsageError like GroupFormer.
  explicit Controller(const ControllerOptions& options);

  // The service, as a program for Endpoint::spawn: answers requests until everybody has left or is
  // lost.
  void serve(Endpoint& endpoint);

  // What `serve` is made of: one event each, and the replies that it leads to.
  std::vector<Reply> handle(const Requests<Request>::Event& event);
  std::vector<Reply> lost(WorkerId worker);

  int present() const { return present_; }  // Workers that have neither left nor been lost.
  const GroupFormerCounters& counters() const { return former_.counters(); }

  // See GroupLog; by name, behind "p_reduce.".
  std::map<std::string, double> figures() const;

 private:
  struct Known {
    bool is_present = true;
    std::int64_t number = 0;  // Of the request that waits for a reply.
  };

  Known& known(WorkerId worker) { return known_[static_cast<std::size_t>(worker.value)]; }
  void dismiss(WorkerId worker);
  std::vector<Reply> replies(const GroupFormer::Groups& groups);

  const ControllerOptions options_;
  GroupFormer former_;
  GroupLog log_;
  std::optional<Shares> shares_;  // Where they are balanced.
  std::vector<Known> known_;      // By worker.
  int present_;
};

}  // namespace huddle
