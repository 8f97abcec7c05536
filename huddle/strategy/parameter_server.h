// A parameter server as a service: a program beside worker 0 that holds the one true model, applies
// every gradient as it arrives and answers with the parameters.
//
//   x <- x - lr * scale * update(g_i)      one optimizer update for each gradient, in the order of
//                                          arrival; momentum and the like live here
//
// The scale is 1/N, so that N workers together take the step of one; or, scaled by delay,
// 1 / (1 + tau), where tau counts the updates since worker i was sent the parameters on which it
// computed. A worker's clock is the number of its gradients here. With a bound s (stale synchronous
// parallel), the answer to a worker with clock c is held back while c - min_j c_j > s.
//
// Cost per step of a worker: M bytes to the server and M bytes back, 2 messages in sequence. All of
// them share the connection of worker 0, which carries 2 N M bytes for N steps: the bottleneck of
// the method. Receives from all workers are open at once, in a buffer each, so a worker behind a
// slow link holds up nobody. Applying an update takes no time in simulation.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "huddle/strategy/lanes.h"
#include "huddle/strategy/replica.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

struct ServerOptions {
  enum class Scale { by_workers, by_delay };

  Scale scale = Scale::by_workers;
  std::optional<std::int64_t> bound;  // Nothing: nobody is ever held back.
  std::int64_t budget = 0;  // Steps of all workers together; 0: workers end by themselves.
  Deadline deadline;        // For each wait but that for gradients.
};

// What the server knows beyond its options, all that a resumed run needs.
struct ServerState {
  at::Tensor parameters;
  std::vector<at::Tensor> slots;  // In the order of UpdateRule::slot_names.
  std::int64_t updates = 0;
};

// What passes between worker and server, in a lane of its own. A worker sends a Push and its
// gradients, bucket by bucket, and gets a ServerAnswer and the parameters; after its last step
// it sends a Push that says so, and gets the final parameters once everybody has done that.
inline constexpr WorkerId kServerWorker{0};
inline constexpr Tag kPushTag{Kind::control, Purpose::message, kServerLane, {0}};
inline constexpr Tag kAnswerTag{Kind::control, Purpose::message, kServerLane, {1}};
inline constexpr Tag kParametersTag{Kind::payload, Purpose::message, kServerLane, {0}};
constexpr Tag gradient_tag(const Bucket& bucket) {
  return {
      Kind::payload, Purpose::message, kServerLane, {1 + static_cast<std::uint32_t>(bucket.index)}};
}

struct Push {
  bool is_last = false;  // No gradients follow, now or ever.
  double learning_rate = 0;
};
struct ServerAnswer {
  bool go_on = true;
  std::int64_t updates = 0;        // Applied so far.
  std::int64_t bytes_sent = 0;     // By the server, to other workers.
  std::int64_t messages_sent = 0;  // Likewise.
};

// As they travel; the empty ones are there to receive into.
at::Tensor to_tensor(const Push& push);
at::Tensor to_tensor(const ServerAnswer& answer);
at::Tensor empty_push();
at::Tensor empty_server_answer();
Push to_push(const at::Tensor& tensor);
ServerAnswer to_server_answer(const at::Tensor& tensor);

class ParameterServer {
 public:
  // `replica` is only looked at for its rule and buckets, and only here. All tensors of `state`
  // become the server's own.
  ParameterServer(const Replica& replica, ServerState state, const ServerOptions& options,
                  int workers);

  // Serves until every worker has pushed its last or is lost. A lost worker is forgotten: what it
  // had not delivered is never applied, and its clock holds nobody back.
  void serve(Endpoint& endpoint);

  // A copy. Any program of the server's worker may ask at any time.
  ServerState state(Endpoint& endpoint) const;

 private:
  enum class Phase {
    computes,  // Or its gradients are on their way.
    waits,     // For its answer.
    done,      // Waits for the final parameters.
    lost,
  };
  struct Client {
    Phase phase = Phase::computes;
    bool was_stopped = false;  // It was told not to go on.
    std::int64_t clock = 0;
    std::int64_t version = 0;  // Updates in the parameters that it computes on.
    at::Tensor push;
    at::Tensor gradients;
    at::Tensor parameters;          // On their way to it.
    std::vector<Pending> arriving;  // In the order in which they were sent.
    std::size_t arrived = 0;        // So many of them.
    std::vector<Pending> answers;
  };

  Client& client(WorkerId worker) { return clients_[static_cast<std::size_t>(worker.value)]; }
  bool is_over() const;
  void listen(Endpoint& endpoint, WorkerId worker);
  WorkerId next_arrival();
  void take(Endpoint& endpoint, WorkerId worker);
  void apply(Client& from);
  void answer_all(Endpoint& endpoint);
  void answer(Endpoint& endpoint, WorkerId worker);
  void send_parameters(Endpoint& endpoint, WorkerId worker);
  void say_farewell(Endpoint& endpoint);

  const UpdateRule rule_;
  const std::vector<Bucket> buckets_;
  const ServerOptions options_;
  ServerState state_;         // Written in exclusive bodies.
  std::int64_t granted_ = 0;  // Steps that workers were allowed to take.
  std::int64_t bytes_sent_ = 0;
  std::int64_t messages_sent_ = 0;
  std::vector<Client> clients_;
};

}  // namespace huddle
