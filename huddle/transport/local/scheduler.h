// What a hub needs of its engine: threads of control that take turns, a clock, and a network.
//
// Two engines keep all workers in one process and share the hub, which knows which message belongs
// to whom and who is lost: on `threads` a thread of control is a thread and time is real; in `sim`
// it is an actor and time is virtual.

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "huddle/base/ids.h"
#include "huddle/transport/tag.h"

namespace huddle {

// A message on its way.
struct Parcel {
  WorkerId from;
  WorkerId to;
  double bytes = 0;
  Kind kind = Kind::payload;
  Lane lane;
  Time sent = 0;  // When its sender let go of it; now or earlier.
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Mutual exclusion of all threads of control of all workers; everything of a hub is guarded by
  // it. Nothing but `rest` waits while it is held.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  virtual Time now() const = 0;

  // The calling thread of control, one of `worker`'s, sleeps until its worker is woken or `until`
  // has come; it may also return for no reason. Unlocked meanwhile. REQUIRES: locked.
  virtual void rest(WorkerId worker, Time until) = 0;

  // All threads of control of this worker that rest look again. REQUIRES: locked.
  virtual void wake(WorkerId worker) = 0;

  // Sees to what has come from outside, without waiting. REQUIRES: locked.
  virtual void look() {}

  // A further thread of control of `worker`. REQUIRES: not locked.
  class Thread {
   public:
    virtual ~Thread() = default;
    virtual void join() = 0;
  };
  virtual std::unique_ptr<Thread> start(WorkerId worker, std::function<void()> body) = 0;

  // How a parcel's journey went.
  struct Arrival {
    Time first_bytes = 0;
    Time end = 0;
    bool broken = false;  // A link on its way was cut.
  };

  // Sends a parcel on its way. Says at once how the journey goes, or nothing, and calls `arrived`
  // when it is over, locked. REQUIRES: locked.
  virtual std::optional<Arrival> carry(const Parcel& parcel,
                                       std::function<void(const Arrival&)> arrived) = 0;

  // True when tensors without numbers travel like any other: time is all that is asked for.
  virtual bool carries_meta() const { return false; }

  // True when computing takes virtual time: real work is done in no time.
  virtual bool is_virtual() const { return false; }
};

}  // namespace huddle
