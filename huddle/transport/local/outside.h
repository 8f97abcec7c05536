// Workers in other processes, as a hub sees them. A hub whose workers are all in this process has
// none.
//
// The hub matches messages, and knows who lives; what carries the bytes is on the other side of
// this. All is called under the hub's lock.

#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "huddle/base/ids.h"

namespace huddle {

class Transfer;

// What has arrived of a message from outside: its bytes, or where they wait.
class Cargo {
 public:
  virtual ~Cargo() = default;
  virtual std::size_t bytes() const = 0;
  virtual int type() const = 0;  // Of its numbers, an at::ScalarType.
  virtual Time arrived_at() const = 0;
};

// How a worker came to its end; `followed`: it failed because another one had ended.
enum class WorkerEnding { finished, died, failed, followed };

class Outside {
 public:
  virtual ~Outside() = default;

  virtual bool holds(WorkerId worker) const = 0;

  // Sends; calls Hub::sent when the tensor is free again.
  virtual void send(const std::shared_ptr<Transfer>& send) = 0;

  // The sends to this worker that have not ended; nobody else will end them.
  virtual std::vector<std::shared_ptr<Transfer>> take_sends_to(WorkerId worker) = 0;

  // Lets the cargo of `send` into the tensor of `receive`; calls Hub::fetched when it is there,
  // maybe at once.
  virtual void fetch(const std::shared_ptr<Transfer>& send,
                     const std::shared_ptr<Transfer>& receive) = 0;

  // A worker of this process wants its tensor back, and `peer`, who fills it, does not go on.
  virtual void hang_up(WorkerId peer, const std::string& why) = 0;

  // A worker of this process has ended; `error`: of what, if it failed.
  virtual void tell_end(WorkerId worker, WorkerEnding ending, const std::string& reason,
                        const std::exception_ptr& error) = 0;
  virtual void tell_stop(const std::string& reason) = 0;
};

}  // namespace huddle
