#include "huddle/strategy/parameter_server.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "huddle/core/error.h"
#include "huddle/strategy/patience.h"

namespace huddle {
namespace {

constexpr int kPushNumbers = 2;
constexpr int kAnswerNumbers = 4;

at::Tensor numbers(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

std::int64_t whole(double number) { return static_cast<std::int64_t>(number); }

}  // namespace

at::Tensor to_tensor(const Push& push) {
  return numbers({push.is_last ? 1.0 : 0.0, push.learning_rate});
}

at::Tensor to_tensor(const ServerAnswer& answer) {
  return numbers({answer.go_on ? 1.0 : 0.0, static_cast<double>(answer.updates),
                  static_cast<double>(answer.bytes_sent),
                  static_cast<double>(answer.messages_sent)});
}

at::Tensor empty_push() { return at::zeros({kPushNumbers}, at::kDouble); }
at::Tensor empty_server_answer() { return at::zeros({kAnswerNumbers}, at::kDouble); }

Push to_push(const at::Tensor& tensor) {
  const double* const values = tensor.const_data_ptr<double>();
  return {.is_last = values[0] != 0, .learning_rate = values[1]};
}

ServerAnswer to_server_answer(const at::Tensor& tensor) {
  const double* const values = tensor.const_data_ptr<double>();
  return {.go_on = values[0] != 0,
          .updates = whole(values[1]),
          .bytes_sent = whole(values[2]),
          .messages_sent = whole(values[3])};
}

ParameterServer::ParameterServer(const Replica& replica, ServerState state,
                                 const ServerOptions& options, int workers)
    : rule_(replica.rule()),
      buckets_(replica.buckets()),
      options_(options),
      state_(std::move(state)),
      granted_(state_.updates + workers),  // Nobody asks before the first step.
      clients_(static_cast<std::size_t>(workers)) {
  check(state_.slots.size() == rule_.slot_names().size(), "the server's slots are not the rule's");
  for (Client& client : clients_) {
    client.version = state_.updates;
    client.push = empty_push();
    client.gradients = at::empty_like(state_.parameters);
    client.parameters = at::empty_like(state_.parameters);
  }
}

void ParameterServer::serve(Endpoint& endpoint) {
  for (int worker = 0; worker < endpoint.workers(); ++worker) listen(endpoint, WorkerId{worker});
  while (!is_over()) {
    const WorkerId worker = next_arrival();
    try {
      take(endpoint, worker);
    } catch (const PeerLost&) {
      client(worker).phase = Phase::lost;
    }
    answer_all(endpoint);
  }
  say_farewell(endpoint);
}

ServerState ParameterServer::state(Endpoint& endpoint) const {
  ServerState copy;
  endpoint.exclusive([&] {
    copy.parameters = state_.parameters.clone();
    for (const at::Tensor& slot : state_.slots) copy.slots.push_back(slot.clone());
    copy.updates = state_.updates;
  });
  return copy;
}

bool ParameterServer::is_over() const {
  return std::all_of(clients_.begin(), clients_.end(), [](const Client& client) {
    return client.phase == Phase::done || client.phase == Phase::lost;
  });
}

void ParameterServer::listen(Endpoint& endpoint, WorkerId worker) {
  Client& from = client(worker);
  from.phase = Phase::computes;
  from.arrived = 0;
  from.arriving.clear();
  from.arriving.push_back(endpoint.receive(worker, kPushTag, from.push));
  for (const Bucket& bucket : buckets_)
    from.arriving.push_back(
        endpoint.receive(worker, gradient_tag(bucket), part(from.gradients, bucket.range)));
}

WorkerId ParameterServer::next_arrival() {
  std::vector<Pending*> awaited;
  std::vector<WorkerId> from;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].phase != Phase::computes) continue;
    awaited.push_back(&clients_[i].arriving[clients_[i].arrived]);
    from.push_back({static_cast<int>(i)});
  }
  return from[wait_patiently(awaited)];
}

// The next part of what this worker pushes is there.
void ParameterServer::take(Endpoint& endpoint, WorkerId worker) {
  Client& from = client(worker);
  from.arriving[from.arrived++].wait(options_.deadline);
  if (from.arrived == 1 && to_push(from.push).is_last) {
    from.phase = Phase::done;
    from.arriving.clear();
  } else if (from.arrived == from.arriving.size()) {
    endpoint.exclusive([&] { apply(from); });
    ++from.clock;
    from.phase = Phase::waits;
  }
}

void ParameterServer::apply(Client& from) {
  const auto workers = static_cast<double>(clients_.size());
  const auto delay = static_cast<double>(state_.updates - from.version);
  const double divisor = options_.scale == ServerOptions::Scale::by_delay ? 1 + delay : workers;
  ++state_.updates;
  // The rate is scaled, not the gradient: rules that normalise gradients would undo that.
  rule_.apply(state_.parameters, from.gradients, state_.slots,
              to_push(from.push).learning_rate / divisor, state_.updates);
}

// Everybody whose answer is due.
void ParameterServer::answer_all(Endpoint& endpoint) {
  const bool is_spent = options_.budget > 0 && granted_ >= options_.budget;
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const Client& client : clients_)
    if (client.phase <= Phase::waits && !client.was_stopped)
      slowest = std::min(slowest, client.clock);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const Client& waiting = clients_[i];
    if (waiting.phase != Phase::waits) continue;
    // Once no further step may begin there is nothing to hold a worker back from.
    if (options_.bound && waiting.clock - slowest > *options_.bound && !is_spent) continue;
    answer(endpoint, {static_cast<int>(i)});
  }
}

void ParameterServer::answer(Endpoint& endpoint, WorkerId worker) {
  Client& to = client(worker);
  const bool go_on = options_.budget == 0 || granted_ < options_.budget;
  if (go_on) ++granted_;
  to.was_stopped = !go_on;
  to.version = state_.updates;
  send_parameters(endpoint, worker);
  to.answers.push_back(endpoint.send(worker, kAnswerTag,
                                     to_tensor(ServerAnswer{.go_on = go_on,
                                                            .updates = state_.updates,
                                                            .bytes_sent = bytes_sent_,
                                                            .messages_sent = messages_sent_})));
  listen(endpoint, worker);
}

// What was sent before has arrived: the worker has pushed since.
void ParameterServer::send_parameters(Endpoint& endpoint, WorkerId worker) {
  Client& to = client(worker);
  to.answers.clear();
  to.parameters.copy_(state_.parameters);
  to.answers.push_back(endpoint.send(worker, kParametersTag, to.parameters));
  if (worker == endpoint.self()) return;
  bytes_sent_ += static_cast<std::int64_t>(to.parameters.nbytes());
  ++messages_sent_;
}

void ParameterServer::say_farewell(Endpoint& endpoint) {
  for (std::size_t i = 0; i < clients_.size(); ++i)
    if (clients_[i].phase == Phase::done) send_parameters(endpoint, {static_cast<int>(i)});
  for (Client& client : clients_) try {
      if (client.phase == Phase::done) client.answers.front().wait(options_.deadline);
    } catch (const PeerLost&) {
      client.phase = Phase::lost;
    }
}

}  // namespace huddle
