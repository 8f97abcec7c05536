// What the process engine asks of a message library: bytes to a peer under a header, what has
// arrived, who is gone.
//
// Everything that is hard (which message belongs to whom, who has finished and who is lost,
// deadlines, order) is the engine's and there once; a wire is a thin adapter. Small data arrives
// with its header; large data waits at its sender until it is fetched, straight into its place.
//
// All calls are made under the engine's lock, by one thread at a time, though not always by the
// same one. No call blocks, and none throws but the constructor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "huddle/base/ids.h"

namespace huddle {

class Wire {
 public:
  virtual ~Wire() = default;

  // Something has ended; `trouble` says what went wrong, and is empty where nothing did.
  using Done = std::function<void(const std::string& trouble)>;

  // Names data that waits at its sender.
  using Handle = std::uintptr_t;

  struct Arrival {
    std::span<const std::byte> header;
    std::size_t bytes = 0;            // Of the data.
    std::span<const std::byte> data;  // While the call lasts; or it is not here yet:
    std::optional<Handle> waiting;    // then `fetch` it, or let go of it.
  };

  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void arrived(const Arrival& arrival) = 0;
    virtual void gone(WorkerId peer, const std::string& why) = 0;
  };

  // Begins to send. `header` is copied; `data` stays untouched until `done` is called, which may be
  // before this returns. Data of one peer arrives in any order.
  virtual void send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
                    Done done) = 0;

  // Lets data that waits at `from` into `into`, which is of its size. `done` as above.
  virtual void fetch(WorkerId from, Handle waiting, std::span<std::byte> into, Done done) = 0;
  virtual void let_go(Handle waiting) = 0;

  // Ends the connection with a peer, which is told as gone with this reason: whatever is under way
  // with it ends, with trouble.
  virtual void hang_up(WorkerId peer, const std::string& why) = 0;

  // Somebody will not end: from now on nothing waits for anybody, the end of the process included.
  virtual void leave_others_behind() {}

  // Sees to some of what is there and tells `listener`. True if anything was. Throws nothing.
  virtual bool progress(Listener& listener) = 0;

  // Before a sleep, after progress came to nothing: until its descriptor is readable there is
  // nothing to see to (`armed`), or there may be something very soon (`busy`), or one cannot know
  // and has to look now and then (`blind`).
  enum class Sleep { armed, busy, blind };
  virtual Sleep prepare_sleep() = 0;
  virtual int descriptor() const = 0;  // -1 where every sleep is blind.
};

}  // namespace huddle
