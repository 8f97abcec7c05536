#include "huddle/strategy/parameter_server/parameter_server.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/strategy/patience.h"

namespace huddle {

at::Tensor shard_of(const at::Tensor& flat, const Replica& replica, WorkerId host, int workers) {
  std::vector<at::Tensor> slices;
  for (const Bucket& bucket : replica.buckets())
    slices.push_back(part(flat, slice_of(bucket, host, workers)));
  return at::cat(slices);
}

ParameterServer::ParameterServer(const Replica& replica, ServerState state,
                                 const ServerOptions& options, WorkerId host, int workers)
    : rule_(replica.rule()),
      options_(options),
      counts_(host == kCountingServer),
      state_(std::move(state)),
      granted_(state_.updates + workers),  // Nobody asks before the first step.
      clients_(static_cast<std::size_t>(workers)) {
  check(state_.slots.size() == rule_.slot_names().size(), "the server's slots are not the rule's");
  std::int64_t size = 0;
  for (const Bucket& bucket : replica.buckets()) {
    const std::int64_t elements = slice_of(bucket, host, workers).size();
    if (elements > 0) slices_.push_back({bucket, {size, size + elements}});
    size += elements;
  }
  check(state_.parameters.numel() == size, "the server's parameters are not its slices");
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    client.worker = {static_cast<int>(i)};
    client.version = state_.updates;
    client.push = empty_push();
    client.gradients = at::empty_like(state_.parameters);
    client.parameters = at::empty_like(state_.parameters);
  }
}

void ParameterServer::serve(Endpoint& endpoint) {
  for (Client& client : clients_) listen(endpoint, client);
  while (!is_over()) {
    await_arrival();
    // Who comes at the same moment is served in one go, and yet one after another.
    for (Client& client : clients_)
      if (client.phase == Phase::computes && client.arriving[client.arrived].ready()) {
        take(endpoint, client);
        answer_all(endpoint);
      }
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

ParameterServer::Sent ParameterServer::sent(Endpoint& endpoint) const {
  Sent copy;
  endpoint.exclusive([&] { copy = sent_; });
  return copy;
}

bool ParameterServer::is_over() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const Client& client) { return client.phase == Phase::done; });
}

// Until a part of what some worker pushes is there.
void ParameterServer::await_arrival() {
  std::vector<Pending*> awaited;
  for (Client& client : clients_)
    if (client.phase == Phase::computes) awaited.push_back(&client.arriving[client.arrived]);
  wait_patiently(awaited);
}

void ParameterServer::listen(Endpoint& endpoint, Client& to) {
  to.phase = Phase::computes;
  to.arrived = 0;
  to.arriving.clear();
  to.arriving.push_back(endpoint.receive(to.worker, kPushTag, to.push));
  for (const Slice& slice : slices_)
    to.arriving.push_back(
        endpoint.receive(to.worker, gradient_tag(slice.bucket), part(to.gradients, slice.place)));
}

// The next part of what this worker pushes is there.
void ParameterServer::take(Endpoint& endpoint, Client& from) {
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

void ParameterServer::apply(const Client& from) {
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
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const Client& client : clients_)
    if (client.phase != Phase::done) slowest = std::min(slowest, client.clock);
  for (Client& client : clients_)
    if (client.phase == Phase::waits &&
        !(options_.bound && client.clock - slowest > *options_.bound))
      answer(endpoint, client);
}

void ParameterServer::answer(Endpoint& endpoint, Client& to) {
  to.version = state_.updates;
  send_parameters(endpoint, to);
  if (counts_) {
    const bool go_on = options_.budget == 0 || granted_ < options_.budget;
    if (go_on) ++granted_;
    to.answers.push_back(endpoint.send(
        to.worker, kAnswerTag, to_tensor(ServerAnswer{.go_on = go_on, .updates = state_.updates})));
  }
  listen(endpoint, to);
}

// What was sent before has arrived: the worker has pushed since.
void ParameterServer::send_parameters(Endpoint& endpoint, Client& to) {
  to.answers.clear();
  to.parameters.copy_(state_.parameters);
  for (const Slice& slice : slices_)
    to.answers.push_back(
        endpoint.send(to.worker, parameters_tag(slice.bucket), part(to.parameters, slice.place)));
  if (to.worker == endpoint.self()) return;  // What stays on the worker is no traffic.
  endpoint.exclusive([&] {
    sent_.bytes += static_cast<std::int64_t>(to.parameters.nbytes());
    sent_.messages += std::ssize(slices_);
  });
}

void ParameterServer::say_farewell(Endpoint& endpoint) {
  for (Client& client : clients_) send_parameters(endpoint, client);
  for (Client& client : clients_)
    for (Pending& answer : client.answers) answer.wait(options_.deadline);
}

}  // namespace huddle
