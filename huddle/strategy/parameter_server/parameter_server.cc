#include "huddle/strategy/parameter_server/parameter_server.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr const char* kParameters = "server_parameters";
constexpr const char* kUpdates = "server_updates";
constexpr const char* kUpdatesBefore = "server_updates_before";

std::string slot_name(std::size_t index) { return concat("server_slot_", index); }

}  // namespace

void ServerState::save(Archive& archive) const {
  archive.numbers[kUpdates] = updates;
  archive.numbers[kUpdatesBefore] = updates_before;
  archive.tensors[kParameters] = parameters;
  for (std::size_t i = 0; i < slots.size(); ++i) archive.tensors[slot_name(i)] = slots[i];
}

void ServerState::load(const Archive& archive) {
  const auto require = [](bool is_there, const std::string& name) {
    if (!is_there)
      throw UsageError(concat("the checkpoint does not hold this worker's part of the servers (",
                              name, "): it is of another strategy or model. Begin anew."));
  };
  const auto tensor = [&](const std::string& name, const at::Tensor& into) {
    const auto saved = archive.tensors.find(name);
    require(saved != archive.tensors.end() && saved->second.sizes() == into.sizes(), name);
    into.copy_(saved->second);
  };
  tensor(kParameters, parameters);
  for (std::size_t i = 0; i < slots.size(); ++i) tensor(slot_name(i), slots[i]);
  require(archive.numbers.contains(kUpdates), kUpdates);
  updates = archive.numbers.at(kUpdates);
  const auto before = archive.numbers.find(kUpdatesBefore);
  updates_before = before != archive.numbers.end() ? before->second : 0;
}

at::Tensor shard_of(const at::Tensor& flat, const Replica& replica, WorkerId home, int workers) {
  std::vector<at::Tensor> slices;
  for (const Bucket& bucket : replica.buckets())
    slices.push_back(part(flat, slice_of(bucket, home, workers)));
  return at::cat(slices);
}

ParameterServer::ParameterServer(const Replica& replica, ServerState state,
                                 const ServerOptions& options, WorkerId home, int workers)
    : rule_(*replica.rule()),
      options_(options),
      state_(std::move(state)),
      granted_(state_.updates + workers),  // Nobody asks before the first step.
      workers_(static_cast<std::size_t>(workers)) {
  if (options.counts && options.balances) shares_.emplace(workers);
  check(state_.slots.size() == rule_.slot_names().size(), "the server's slots are not the rule's");
  std::int64_t size = 0;
  for (const Bucket& bucket : replica.buckets()) {
    const std::int64_t elements = slice_of(bucket, home, workers).size();
    if (elements > 0) slices_.push_back({bucket, {size, size + elements}});
    size += elements;
  }
  check(state_.parameters.numel() == size, "the server's parameters are not its slices");
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Pusher& worker = workers_[i];
    worker.id = {static_cast<int>(i)};
    worker.version = state_.updates;
    worker.push = room_for(size_of<Push>());
    worker.gradients = at::empty_like(state_.parameters);
    worker.parameters = at::empty_like(state_.parameters);
  }
}

void ParameterServer::serve(Endpoint& endpoint) {
  for (Pusher& worker : workers_) listen(endpoint, worker);
  while (!is_over()) {
    await_arrival();
    // Who comes at the same moment is served in one go, and yet one after another.
    for (Pusher& worker : workers_)
      if (worker.phase == Phase::computes && worker.arriving[worker.arrived].ready()) {
        take(endpoint, worker);
        reply_to_all(endpoint);
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
    copy.updates_before = state_.updates_before;
  });
  return copy;
}

ParameterServer::Sent ParameterServer::sent(Endpoint& endpoint) const {
  Sent copy;
  endpoint.exclusive([&] { copy = sent_; });
  return copy;
}

bool ParameterServer::is_over() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Pusher& worker) { return worker.phase == Phase::done; });
}

// Until a part of what some worker pushes is there.
void ParameterServer::await_arrival() {
  std::vector<Pending*> awaited;
  for (Pusher& worker : workers_)
    if (worker.phase == Phase::computes) awaited.push_back(&worker.arriving[worker.arrived]);
  wait_patiently(awaited);
}

void ParameterServer::listen(Endpoint& endpoint, Pusher& to) {
  to.phase = Phase::computes;
  to.arrived = 0;
  to.arriving.clear();
  to.arriving.push_back(endpoint.receive(to.id, kPushTag, to.push));
  for (const Slice& slice : slices_)
    to.arriving.push_back(
        endpoint.receive(to.id, gradient_tag(slice.bucket), part(to.gradients, slice.place)));
}

// The next part of what this worker pushes is there.
void ParameterServer::take(Endpoint& endpoint, Pusher& from) {
  from.arriving[from.arrived++].wait(options_.deadline);
  if (from.arrived == 1 && from_tensor<Push>(from.push).is_last) {
    from.phase = Phase::done;
    from.arriving.clear();
    if (shares_) shares_->left(from.id);
  } else if (from.arrived == from.arriving.size()) {
    endpoint.exclusive([&] { apply(from); });
    if (shares_) shares_->stepped(from.id);
    ++from.clock;
    from.phase = Phase::waits;
  }
}

void ParameterServer::apply(const Pusher& from) {
  const auto workers = static_cast<double>(workers_.size());
  const auto delay = static_cast<double>(state_.updates - from.version);
  const double divisor = options_.scale == ServerOptions::Scale::by_delay ? 1 + delay : workers;
  ++state_.updates;
  // The rate is scaled, not the gradient: rules that normalise gradients would undo that.
  rule_.apply(state_.parameters, from.gradients, state_.slots,
              from_tensor<Push>(from.push).learning_rate / divisor,
              state_.updates_before + state_.updates);
}

// Everybody whose reply is due.
void ParameterServer::reply_to_all(Endpoint& endpoint) {
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const Pusher& worker : workers_)
    if (worker.phase != Phase::done) slowest = std::min(slowest, worker.clock);
  for (Pusher& worker : workers_)
    if (worker.phase == Phase::waits &&
        !(options_.bound && worker.clock - slowest > *options_.bound))
      reply(endpoint, worker);
}

void ParameterServer::reply(Endpoint& endpoint, Pusher& to) {
  to.version = state_.updates;
  send_parameters(endpoint, to);
  if (options_.counts) {
    const bool go_on = options_.budget == 0 || granted_ < options_.budget;
    if (go_on) ++granted_;
    const ServerReply told{.go_on = go_on,
                           .updates = state_.updates,
                           .rate_factor = shares_ ? shares_->factor(to.id) : 1};
    to.replies.push_back(endpoint.send(to.id, kReplyTag, to_tensor(told)));
  }
  listen(endpoint, to);
}

// What was sent before has arrived: the worker has pushed since.
void ParameterServer::send_parameters(Endpoint& endpoint, Pusher& to) {
  to.replies.clear();
  to.parameters.copy_(state_.parameters);
  for (const Slice& slice : slices_)
    to.replies.push_back(
        endpoint.send(to.id, parameters_tag(slice.bucket), part(to.parameters, slice.place)));
  if (to.id == endpoint.self()) return;  // What stays on the worker is no traffic.
  endpoint.exclusive([&] {
    sent_.bytes += static_cast<std::int64_t>(to.parameters.nbytes());
    sent_.messages += std::ssize(slices_);
  });
}

void ParameterServer::say_farewell(Endpoint& endpoint) {
  for (Pusher& worker : workers_) send_parameters(endpoint, worker);
  for (Pusher& worker : workers_)
    for (Pending& reply : worker.replies) reply.wait(options_.deadline);
}

}  // namespace huddle
