// A parameter server as a service, sharded over all workers: a program beside each worker holds 1/N
// of the one true model, applies its part of every gradient as it arrives and answers with its part
// of the parameters.
//
//   x <- x - lr * scale * update(g_i)      one optimizer update for each gradient, in the order of
//                                          arrival; momentum and the like live here
//
// The scale is 1/N, so that N workers together take the step of one; or, scaled by delay,
// 1 / (1 + tau), where tau counts the updates since worker i was sent the parameters on which it
// computed. A worker's clock is the number of its gradients here. With a bound s (stale synchronous
// parallel), the answer to a worker with clock c is held back while c - min_j c_j > s.
//
// Servers do not talk to one another. Each applies gradients in its own order and counts clocks for
// itself; a worker goes on when all have answered, so a bound that each keeps is kept. What a
// worker pulls may mix parts of different moments. One server also counts the steps of the run: it
// alone says whether to go on.
//
// Cost per step of a worker: (N-1)/N M bytes to the other servers and as many back, 2 messages in
// sequence. Its own server sends as much to the others, so a worker sends 2 (N-1)/N M bytes a step,
// as in a ring. Receives from all workers are open at once, in a buffer each, so a worker behind a
// slow link holds up nobody; these and the answers on their way are 2 M bytes on every worker.
// Applying an update takes no time in simulation.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "huddle/replica/replica.h"
#include "huddle/strategy/parameter_server/server_messages.h"
#include "huddle/strategy/shares.h"
#include "huddle/strategy/strategy.h"
#include "huddle/transport/requests.h"

namespace huddle {

struct ServerOptions {
  enum class Scale { by_workers, by_delay };

  Scale scale = Scale::by_workers;
  std::optional<std::int64_t> bound;  // Nothing: nobody is ever held back.
  bool balances = false;              // Workers that push less often count more (shares.h).
  bool counts = false;                // The steps of the run: one of the servers does.
  std::int64_t budget = 0;  // Steps of all workers together; 0: workers end by themselves.
  Deadline deadline;        // For each wait but that for gradients.
};

// What a server knows beyond its options, all that a resumed run needs. Tensors hold the server's
// slices, one bucket after another.
struct ServerState {
  at::Tensor parameters;
  std::vector<at::Tensor> slots;  // In the order of UpdateRule::slot_names.
  std::int64_t updates = 0;
  std::int64_t updates_before = 0;  // Of the slots, by a warm-up; Adam's correction counts them.

  // `load` copies into the tensors. Throws UsageError where the archive does not hold such a state.
  void save(Archive& archive) const;
  void load(const Archive& archive);
};

// The slices of the server beside `home`, as a tensor of their own.
at::Tensor shard_of(const at::Tensor& flat, const Replica& replica, WorkerId home, int workers);

class ParameterServer {
 public:
  // The server beside worker `home`. `replica` is only looked at for its rule and buckets, and only
  // here. All tensors of `state` become the server's own.
  ParameterServer(const Replica& replica, ServerState state, const ServerOptions& options,
                  WorkerId home, int workers);

  // Serves until every worker has pushed its last. Throws PeerLost when one of them is lost.
  void serve(Endpoint& endpoint);

  // A copy. Any program of the server's worker may ask at any time.
  ServerState state(Endpoint& endpoint) const;

  // What it has sent to other workers so far. Likewise.
  struct Sent {
    std::int64_t bytes = 0;
    std::int64_t messages = 0;
  };
  Sent sent(Endpoint& endpoint) const;

 private:
  // Of one bucket: where it stands in this server's tensors.
  struct Slice {
    Bucket bucket;
    Range place;
  };
  enum class Phase {
    computes,  // Or its gradients are on their way.
    waits,     // For its reply.
    done,      // Waits for the final parameters.
  };
  struct Pusher {
    WorkerId id;
    Phase phase = Phase::computes;
    std::int64_t clock = 0;
    std::int64_t version = 0;  // Updates in the parameters that it computes on.
    at::Tensor push;
    at::Tensor gradients;
    at::Tensor parameters;          // On their way to it.
    std::vector<Pending> arriving;  // In the order in which they were sent.
    std::size_t arrived = 0;        // So many of them.
    std::vector<Pending> replies;
  };

  bool is_over() const;
  void await_arrival();
  void listen(Endpoint& endpoint, Pusher& to);
  void take(Endpoint& endpoint, Pusher& from);
  void apply(const Pusher& from);
  void reply_to_all(Endpoint& endpoint);
  void reply(Endpoint& endpoint, Pusher& to);
  void send_parameters(Endpoint& endpoint, Pusher& to);
  void say_farewell(Endpoint& endpoint);

  const UpdateRule rule_;
  const ServerOptions options_;
  std::vector<Slice> slices_;
  ServerState state_;             // Written in exclusive bodies.
  Sent sent_;                     // Likewise.
  std::int64_t granted_ = 0;      // Steps that workers were allowed to take; of who counts them.
  std::optional<Shares> shares_;  // Of who counts them, where they are balanced.
  std::vector<Pusher> workers_;
};

}  // namespace huddle
