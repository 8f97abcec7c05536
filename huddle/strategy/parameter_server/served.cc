#include "huddle/strategy/parameter_server/served.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/step.h"

namespace huddle {
namespace {

constexpr const char* kServerParameters = "server_parameters";
constexpr const char* kServerUpdates = "server_updates";
constexpr const char* kRunUpdates = "run_updates";

std::string slot_name(std::size_t index) { return concat("server_slot_", index); }

class Served final : public Strategy {
 public:
  Served(ServerOptions server, const Options& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        options_(std::move(server)),
        clip_norm_(context.clip_norm),
        everyone_(Group::everyone(context.endpoint.workers())) {
    options_.budget = context.steps * context.endpoint.workers();
    options_.deadline = context.averaging.deadline;
    replica_.cut(bucket_count(options.integer("buckets"), replica_));
  }

  void before_forward(Step) override { start_server(); }

  void gradients_ready(Step, const Bucket& bucket) override {
    if (clip_norm_ == 0) push(bucket);  // Clipping needs the norm of all.
  }

  Update before_update(Step) override {
    const Time from = endpoint_.now();
    if (clip_norm_ > 0) {
      clip(replica_.gradients(), clip_norm_);
      for (const Bucket& bucket : replica_.buckets()) push(bucket);
    }
    naming_what_is_lost([&] {
      const at::Tensor answer = empty_server_answer();
      Pending answered = endpoint_.receive(kCountingServer, kAnswerTag, answer);
      pull();
      wait(answered);
      answer_ = to_server_answer(answer);
    });
    settle(from);
    return Update::elsewhere;
  }

  Outcome parameters_updated(Step) override {
    return {.group = Group({endpoint_.self()}), .progress = progress(), .go_on = answer_.go_on};
  }

  Outcome skipped(Step) override { return {.progress = progress(), .go_on = answer_.go_on}; }

  // Everybody ends with the servers' final model, and serves until then.
  void finish() override {
    start_server();
    exchange_.begin = endpoint_.now();
    tell_servers({.is_last = true});
    naming_what_is_lost([&] {
      pull();
      wait(program_);
    });
    settle(exchange_.begin);
  }

  void save(Archive& archive) const override {
    const ServerState state = server_    ? server_->state(endpoint_)
                              : resumed_ ? *resumed_
                                         : initial_state();
    archive.numbers[kRunUpdates] = answer_.updates;
    archive.numbers[kServerUpdates] = state.updates;
    archive.tensors[kServerParameters] = state.parameters;
    for (std::size_t i = 0; i < state.slots.size(); ++i)
      archive.tensors[slot_name(i)] = state.slots[i];
  }

  void load(const Archive& archive) override {
    resumed_ = initial_state();
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
    const auto number = [&](const std::string& name) {
      const auto saved = archive.numbers.find(name);
      require(saved != archive.numbers.end(), name);
      return saved->second;
    };
    tensor(kServerParameters, resumed_->parameters);
    for (std::size_t i = 0; i < resumed_->slots.size(); ++i)
      tensor(slot_name(i), resumed_->slots[i]);
    resumed_->updates = number(kServerUpdates);
    answer_.updates = number(kRunUpdates);
  }

 private:
  double progress() const {
    return static_cast<double>(answer_.updates) / static_cast<double>(endpoint_.workers());
  }

  at::Tensor shard(const at::Tensor& flat) const {
    return shard_of(flat, replica_, endpoint_.self(), endpoint_.workers());
  }

  ServerState initial_state() const {
    ServerState state{.parameters = shard(replica_.parameters()), .slots = {}, .updates = 0};
    for (std::size_t i = 0; i < replica_.slots().size(); ++i)
      state.slots.push_back(at::zeros_like(state.parameters));
    return state;
  }

  // Not before the first step: only then is the model that everybody begins with in the replica.
  void start_server() {
    if (server_) return;
    watch_ = endpoint_.watch(everyone_);
    server_ = std::make_unique<ParameterServer>(replica_,
                                                resumed_ ? std::move(*resumed_) : initial_state(),
                                                options_, endpoint_.self(), endpoint_.workers());
    program_ = endpoint_.spawn(kServerLane, [this](Endpoint& beside) { server_->serve(beside); });
  }

  void tell_servers(const Push& push) {
    for (const WorkerId host : everyone_)
      pushed_.push_back(endpoint_.send(host, kPushTag, to_tensor(push)));
  }

  void push(const Bucket& bucket) {
    if (bucket.index == 0) {
      exchange_ = {.begin = endpoint_.now()};
      tell_servers({.learning_rate = replica_.learning_rate()});
    }
    for (const WorkerId host : everyone_) {
      const at::Tensor slice =
          part(replica_.gradients(), slice_of(bucket, host, endpoint_.workers()));
      if (slice.numel() == 0) continue;
      pushed_.push_back(endpoint_.send(host, gradient_tag(bucket), slice));
      if (host == endpoint_.self()) continue;  // What stays on the worker is no traffic.
      exchange_.bytes_sent += static_cast<std::int64_t>(slice.nbytes());
      ++exchange_.messages_sent;
    }
  }

  // Waits until all parameters are the servers', and what was pushed is with them.
  void pull() {
    std::vector<Pending> arriving;
    for (const Bucket& bucket : replica_.buckets())
      for (const WorkerId host : everyone_) {
        const Range slice = slice_of(bucket, host, endpoint_.workers());
        if (slice.size() > 0)
          arriving.push_back(
              endpoint_.receive(host, parameters_tag(bucket), part(replica_.parameters(), slice)));
      }
    exchange_.first_bytes = std::numeric_limits<Time>::max();
    for (Pending& each : arriving) {
      await(each);
      if (each.from() != endpoint_.self() || everyone_.size() == 1)
        exchange_.first_bytes = std::min(exchange_.first_bytes, each.first_bytes());
      wait(each);
    }
    for (Pending& sent : pushed_) wait(sent);
    pushed_.clear();
    exchange_.end = endpoint_.now();
  }

  // Until it is ready. Whoever is lost takes its server along, and one that failed gives no answer:
  // neither is waited for.
  void await(Pending& pending) {
    while (true) {
      std::vector<Pending*> any{&watch_, &pending};
      if (program_.under_way() && &pending != &program_) any.push_back(&program_);
      Pending* const first = any[wait_any(any, options_.deadline)];
      if (first == &pending) return;
      first->wait(options_.deadline);  // Throws, or the server has done its work.
    }
  }

  void wait(Pending& pending) {
    if (!pending.under_way()) return;
    await(pending);
    pending.wait(options_.deadline);
  }

  void naming_what_is_lost(const std::function<void()>& exchange) const {
    try {
      exchange();
    } catch (const PeerLost& lost) {
      std::int64_t held = 0;
      for (const Bucket& bucket : replica_.buckets())
        held += slice_of(bucket, lost.peer(), endpoint_.workers()).size();
      throw PeerLost(lost.peer(),
                     concat(lost.what(), "; the server beside worker ", lost.peer().value, " held ",
                            held, " of the ", replica_.parameters().numel(),
                            " parameters, which are lost with it: start again"));
    }
  }

  // The worker has been blocked since `from`. It counts what its server has sent as well.
  void settle(Time from) {
    const ParameterServer::Sent sent = server_->sent(endpoint_);
    exchange_.bytes_sent += sent.bytes - counted_.bytes;
    exchange_.messages_sent += sent.messages - counted_.messages;
    counted_ = sent;
    meter_.blocked({&exchange_, 1}, from, endpoint_.now());
    exchange_ = {};
  }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  ServerOptions options_;
  const double clip_norm_;
  const Group everyone_;           // Each has a server beside it.
  Exchange exchange_;              // Of this step.
  ServerAnswer answer_;            // The last one.
  ParameterServer::Sent counted_;  // What the meter knows of the server.
  std::optional<ServerState> resumed_;
  std::vector<Pending> pushed_;
  Pending watch_;  // Of everybody.
  std::unique_ptr<ParameterServer> server_;
  Pending program_;  // Last: the server ends before what it uses.
};

}  // namespace

std::vector<KeyInfo> served_keys() { return {buckets_key()}; }

std::unique_ptr<Strategy> make_served(const ServerOptions& server, const Options& options,
                                      const StrategyContext& context) {
  return std::make_unique<Served>(server, options, context);
}

}  // namespace huddle
