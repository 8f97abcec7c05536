// The seam: all that a worker may know of the outside world.
//
// Strategies and collectives are written against this alone, so the same code runs on threads, in a
// simulated cluster, under MPI and inside PyTorch. No strategy starts a thread, takes a mutex,
// sleeps or reads a clock itself.

#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "huddle/base/group.h"
#include "huddle/base/ids.h"
#include "huddle/transport/pending.h"
#include "huddle/transport/tag.h"

namespace huddle {

// A faster way to average, where the members can reach one another's memory.
class GroupReduce {
 public:
  virtual ~GroupReduce() = default;

  // Combines block number `block` of the members' tensors, in place, in all of them.
  using Combine = std::function<void(int block, std::span<at::Tensor> members)>;

  // Every member of `group` calls this with the same tag and number of blocks and its own tensor;
  // `combine` then runs once for each block, on whichever member gets to it. Returns when all
  // blocks are done, with the moment at which everybody was there. Throws PeerLost or Timeout, with
  // the tensor untouched, if somebody never comes; a member that dies later loses nothing.
  virtual Time reduce(const Group& group, Tag tag, at::Tensor mine, int blocks,
                      const Combine& combine, Deadline deadline) = 0;

  // What `make` gives under this name, made once and shared by all workers of the process that ask
  // for it while one of them holds it. Those who ask while one makes it wait for that. REQUIRES:
  // the name says everything that it depends on; `make` calls nothing of the engine.
  using Make = std::function<std::shared_ptr<const void>()>;
  virtual std::shared_ptr<const void> share(const std::string& name, const Make& make) = 0;
};

// One worker's (or one of its programs') connection to the others. Used by one thread at a time.
// Nothing here blocks but Pending::wait, GroupReduce::reduce, `exclusive` and `compute`.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual WorkerId self() const = 0;
  virtual int workers() const = 0;

  // Messages with equal (sender, receiver, tag) arrive in the order in which they were sent. A send
  // may not end before its receive begins. REQUIRES: contiguous tensors; the receiver's has the
  // message's size and type. A worker may send to itself, to a program of its own.
  virtual Pending send(WorkerId to, Tag tag, at::Tensor data) = 0;
  virtual Pending receive(WorkerId from, Tag tag, at::Tensor into) = 0;

  // Receives from the first who sends. REQUIRES: the tag's purpose is any-source. Fails with
  // PeerLost once for each worker that has ended, after what it had sent was received.
  virtual Pending receive_any(Tag tag, at::Tensor into) = 0;

  // Fails with PeerLost as soon as a member of `group` is lost (not when it has merely finished),
  // and never ends otherwise. Who waits for some members of a group watches all of them: a peer
  // that lives may have given up because of one that died.
  virtual Pending watch(const Group& group) = 0;

  // Runs `program` beside the worker. Programs of one lane run one after another, in order; lanes
  // run side by side. What the program throws is thrown where its Pending is waited on. The
  // program's own endpoint is valid while it runs. REQUIRES: lane is not the main lane.
  virtual Pending spawn(Lane lane, std::function<void(Endpoint&)> program) = 0;

  // Runs `body` while no other exclusive body of this worker runs. Bodies are brief: who waits
  // for one longer than a default deadline gets a Timeout. REQUIRES: not from inside another one,
  // and the body waits for no program of its worker, which may want to begin one.
  virtual void exclusive(const std::function<void()>& body) = 0;

  // Passes the time that `work` seconds of this step's computation take on this worker, simulated
  // or injected; on a real machine without injection it is free. Also tells the engine which step
  // errors should name.
  virtual void compute(Step step, Seconds work) = 0;

  virtual Time now() const = 0;

  // True where time is virtual: real work takes none of it, and no call of this interface may be
  // made from inside somebody else's (a gradient hook).
  virtual bool is_virtual() const { return false; }

  virtual GroupReduce* native() { return nullptr; }
};

}  // namespace huddle
