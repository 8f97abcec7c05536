#include "huddle/strategy/parameter_server/asp.h"

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/strategy/gradient_averaging.h"
#include "huddle/strategy/parameter_server/server_client.h"
#include "huddle/strategy/shared_keys.h"

namespace huddle {
namespace {

class Asp final : public Strategy {
 public:
  Asp(const ServerOptions& server, std::int64_t buckets, const StrategyContext& context)
      : self_(context.endpoint.self()),
        workers_(context.endpoint.workers()),
        endpoint_(context.endpoint),
        replica_(context.replica),
        clip_norm_(context.clip_norm),
        servers_(server, context) {
    replica_.cut(bucket_count(buckets, replica_));
  }

  void start() override { servers_.start(); }

  void gradients_ready(Step, const Bucket& bucket) override {
    if (clip_norm_ == 0) servers_.push(bucket);  // Clipping needs the norm of all.
  }

  Update before_update(Step) override {
    const Time from = endpoint_.now();
    if (clip_norm_ > 0) {
      replica_.clip_gradients(clip_norm_);
      for (const Bucket& bucket : replica_.buckets()) servers_.push(bucket);
    }
    reply_ = servers_.pull(from);
    replica_.set_rate_factor(reply_.rate_factor);
    return Update::done;
  }

  Outcome parameters_updated(Step) override {
    return {.group = Group({self_}), .progress = progress(), .go_on = reply_.go_on};
  }

  Outcome skipped(Step) override { return {.progress = progress(), .go_on = reply_.go_on}; }

  // Everybody ends with the servers' final model, and serves until then.
  void finish() override { servers_.leave(); }

  void save(Archive& archive) const override {
    archive.numbers["run_updates"] = reply_.updates;
    servers_.state().save(archive);
  }

  void load(const Archive& archive) override {
    ServerState state = servers_.initial_state();
    state.load(archive);
    servers_.resume(std::move(state));
    if (!archive.numbers.contains("run_updates"))
      throw UsageError(
          "the checkpoint does not say how far the run was (run_updates). Begin anew.");
    reply_.updates = archive.numbers.at("run_updates");
  }

 private:
  double progress() const { return static_cast<double>(reply_.updates) / workers_; }

  const WorkerId self_;
  const int workers_;
  Endpoint& endpoint_;
  Replica& replica_;
  const double clip_norm_;
  ServerReply reply_;  // The last one.
  ServerClient servers_;
};

StrategyEntry entry(SpecInfo info,
                    ServerOptions (*server)(const Options&, const StrategySetting&)) {
  info.keys.push_back(buckets_key());
  return {.info = info,
          .prepare = [server, name = info.name](const Options& options,
                                                const StrategySetting& setting) -> MakeStrategy {
            require_rule(setting, name + " applies gradients on servers");
            return [chosen = server(options, setting),
                    buckets = options.integer("buckets")](const StrategyContext& context) {
              return std::make_unique<Asp>(chosen, buckets, context);
            };
          },
          .traits = [](const Options&) { return Traits{.pace = Pace::own}; }};
}

}  // namespace

StrategyEntry asp_entry() {
  return entry(
      {.name = "asp",
       .summary = "asynchronous SGD: a server applies every gradient when it arrives",
       .keys = {choice_key("delay_scaled", "off",
                           "on: a gradient that is t updates old counts 1/(1+t), not 1/workers",
                           {"off", "on"}),
                balance_key()}},
      [](const Options& options, const StrategySetting& setting) {
        const bool by_delay = options.text("delay_scaled") == "on";
        const bool is_balanced = balances(options, setting);
        if (by_delay && is_balanced)
          throw UsageError(
              "balance=on lets slow workers count as much as others, and delay_scaled=on lets them "
              "count less: leave one of them out.");
        return ServerOptions{
            .scale = by_delay ? ServerOptions::Scale::by_delay : ServerOptions::Scale::by_workers,
            .balances = is_balanced};
      });
}

StrategyEntry ssp_entry() {
  StrategyEntry ssp =
      entry({.name = "ssp",
             .summary = "stale synchronous SGD: as asp, but nobody gets far ahead of the slowest",
             .keys = {{.name = "bound",
                       .fallback = "3",
                       .help = "by how many steps a worker may be ahead of the slowest; 0: a "
                               "barrier"}}},
            [](const Options& options, const StrategySetting&) {
              return ServerOptions{.bound = options.integer("bound")};
            });
  ssp.why_no_balance =
      "nobody gets further ahead of the slowest worker than its bound, so all take equal shares of "
      "the steps anyway";
  return ssp;
}

}  // namespace huddle
