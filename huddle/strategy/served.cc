#include "huddle/strategy/served.h"

#include <ATen/ops/zeros_like.h>

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "huddle/core/text.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/step.h"

namespace huddle {
namespace {

std::string slot_name(std::size_t index) { return concat("server_slot_", index); }

class Served final : public Strategy {
 public:
  Served(ServerOptions server, const Options& options, const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        options_(std::move(server)),
        clip_norm_(context.clip_norm),
        is_host_(context.endpoint.self() == kServerWorker) {
    options_.budget = context.steps * context.endpoint.workers();
    options_.deadline = context.averaging.deadline;
    replica_.cut(bucket_count(options.integer("buckets"), replica_));
  }

  bool decides_the_end() const override { return options_.budget > 0; }

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
    at::Tensor answer = empty_server_answer();
    Pending answered = endpoint_.receive(kServerWorker, kAnswerTag, answer);
    receive_parameters();
    answered.wait(options_.deadline);
    for (Pending& sent : pushed_) sent.wait(options_.deadline);
    pushed_.clear();
    answer_ = to_server_answer(answer);
    settle(from);
    return Update::elsewhere;
  }

  Outcome parameters_updated(Step) override {
    return {.group = Group({endpoint_.self()}), .progress = progress(), .go_on = answer_.go_on};
  }

  Outcome skipped(Step) override { return {.progress = progress(), .go_on = answer_.go_on}; }

  // Everybody ends with the server's final model.
  void finish() override {
    start_server();
    exchange_.begin = endpoint_.now();
    Pending said = endpoint_.send(kServerWorker, kPushTag, to_tensor(Push{.is_last = true}));
    receive_parameters();
    said.wait(options_.deadline);
    if (is_host_) program_.wait(options_.deadline);
    settle(exchange_.begin);
  }

  void save(Archive& archive) const override {
    if (!server_) return;
    const ServerState state = server_->state(endpoint_);
    archive.numbers["server_updates"] = state.updates;
    archive.tensors["server_parameters"] = state.parameters;
    for (std::size_t i = 0; i < state.slots.size(); ++i)
      archive.tensors[slot_name(i)] = state.slots[i];
  }

  void load(const Archive& archive) override {
    if (!is_host_) return;
    resumed_ = initial_state();
    const auto restore = [&](const std::string& name, const at::Tensor& into) {
      if (archive.tensors.contains(name)) into.copy_(archive.tensors.at(name));
    };
    restore("server_parameters", resumed_->parameters);
    for (std::size_t i = 0; i < resumed_->slots.size(); ++i)
      restore(slot_name(i), resumed_->slots[i]);
    if (archive.numbers.contains("server_updates"))
      resumed_->updates = archive.numbers.at("server_updates");
    answer_.updates = resumed_->updates;
  }

 private:
  double progress() const {
    return static_cast<double>(answer_.updates) / static_cast<double>(endpoint_.workers());
  }

  ServerState initial_state() const {
    ServerState state{.parameters = replica_.parameters().clone(), .slots = {}, .updates = 0};
    for (const Slot& slot : replica_.slots()) state.slots.push_back(at::zeros_like(slot.values));
    return state;
  }

  // Not before the first step: only then is the model that everybody begins with in the replica.
  void start_server() {
    if (!is_host_ || server_) return;
    server_ = std::make_unique<ParameterServer>(
        replica_, resumed_ ? std::move(*resumed_) : initial_state(), options_, endpoint_.workers());
    program_ = endpoint_.spawn(kServerLane, [this](Endpoint& beside) { server_->serve(beside); });
  }

  void push(const Bucket& bucket) {
    if (bucket.index == 0) {
      exchange_ = {.begin = endpoint_.now()};
      pushed_.push_back(endpoint_.send(kServerWorker, kPushTag,
                                       to_tensor(Push{.learning_rate = replica_.learning_rate()})));
    }
    const at::Tensor gradients = part(replica_.gradients(), bucket.range);
    pushed_.push_back(endpoint_.send(kServerWorker, gradient_tag(bucket), gradients));
    if (is_host_) return;  // What stays on the worker is no traffic.
    exchange_.bytes_sent += static_cast<std::int64_t>(gradients.nbytes());
    ++exchange_.messages_sent;
  }

  // On the server's own worker, waits for the server's end too: if it failed, no answer will come.
  void receive_parameters() {
    Pending received = endpoint_.receive(kServerWorker, kParametersTag, replica_.parameters());
    if (program_.under_way()) {
      const std::array<Pending*, 2> either{&received, &program_};
      if (wait_any(either, options_.deadline) == 1) program_.wait(options_.deadline);
    }
    Pending* const alone = &received;
    wait_any(std::span(&alone, 1), options_.deadline);
    exchange_.first_bytes = received.first_bytes();
    received.wait(options_.deadline);
    exchange_.end = endpoint_.now();
  }

  // The worker has been blocked since `from`. Worker 0 counts what its server has sent as well.
  void settle(Time from) {
    if (is_host_) {
      exchange_.bytes_sent += answer_.bytes_sent - counted_.bytes_sent;
      exchange_.messages_sent += answer_.messages_sent - counted_.messages_sent;
      counted_ = answer_;
    }
    meter_.blocked({&exchange_, 1}, from, endpoint_.now());
    exchange_ = {};
  }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  ServerOptions options_;
  const double clip_norm_;
  const bool is_host_;    // The server runs beside this worker.
  Exchange exchange_;     // Of this step.
  ServerAnswer answer_;   // The last one.
  ServerAnswer counted_;  // What the meter knows of.
  std::optional<ServerState> resumed_;
  std::vector<Pending> pushed_;
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
