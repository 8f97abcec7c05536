#include "huddle/strategy/eager/eager.h"

#include <vector>

#include "huddle/base/error.h"
#include "huddle/strategy/eager/partial_rounds.h"

namespace huddle {
namespace {

// Somebody said that it leaves, and nobody had anything to contribute. Such a round is no update:
// momentum would move the model all the same.
bool is_empty(const PartialRound& round) { return round.gradients == 0; }

class Eager final : public Strategy {
 public:
  Eager(const PartialRounds::How& how, const StrategyContext& context)
      : endpoint_(context.endpoint),
        replica_(context.replica),
        meter_(context.meter),
        clip_norm_(context.clip_norm),
        budget_(context.steps * context.endpoint.workers()),
        everyone_(Group::everyone(context.endpoint.workers())),
        rounds_(context.endpoint, how) {
    replica_.cut(1);
  }

  void start() override { rounds_.start(replica_.gradients()); }

  // All rounds that have finished are applied here; the caller ends the newest one's update.
  Update before_update(Step) override {
    rounds_.contribute(replica_.gradients());
    std::vector<PartialRound> rounds = take();
    std::erase_if(rounds, is_empty);
    if (rounds.empty()) return Update::skip;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (i > 0) replica_.end_update();
      apply(rounds[i]);
    }
    return Update::done;
  }

  Outcome parameters_updated(Step) override { return outcome(); }

  Outcome skipped(Step) override { return outcome(); }

  // Takes part until everybody leaves: all replicas end after the same round.
  void finish() override {
    rounds_.leave();
    for (bool is_over = false; !is_over;)
      for (const PartialRound& round : take()) {
        if (!is_empty(round)) {
          apply(round);
          replica_.end_update();
        }
        is_over = round.is_last;
      }
    rounds_.finish();
  }

  void load(const Archive&) override {
    throw UsageError(
        "eager cannot resume a run: workers save their models after different rounds. Begin anew.");
  }

 private:
  std::vector<PartialRound> take() {
    const Time from = endpoint_.now();
    std::vector<PartialRound> rounds = rounds_.take(replica_.learning_rate());
    std::vector<Exchange> exchanges;
    for (const PartialRound& round : rounds) {
      exchanges.push_back(round.exchange);
      gradients_ += round.gradients;
    }
    meter_.blocked(exchanges, from, endpoint_.now());
    return rounds;
  }

  // With the round's own rate: whoever comes late may have another one by now, and would end with
  // another model.
  void apply(const PartialRound& round) {
    const double own_rate = replica_.learning_rate();
    replica_.gradients().copy_(round.mean);
    replica_.clip_gradients(clip_norm_);
    replica_.set_learning_rate(round.learning_rate);
    replica_.update(replica_.everything());
    replica_.set_learning_rate(own_rate);
  }

  Outcome outcome() const {
    return {.group = everyone_,
            .progress = static_cast<double>(gradients_) / everyone_.size(),
            .go_on = budget_ == 0 || gradients_ < budget_};
  }

  Endpoint& endpoint_;
  Replica& replica_;
  Meter& meter_;
  const double clip_norm_;
  const std::int64_t budget_;  // Gradients of all workers together; 0: nobody knows.
  const Group everyone_;
  std::int64_t gradients_ = 0;  // In the rounds that this worker has applied.
  PartialRounds rounds_;
};

}  // namespace

std::unique_ptr<Strategy> make_eager(const PartialRounds::How& how,
                                     const StrategyContext& context) {
  return std::make_unique<Eager>(how, context);
}

}  // namespace huddle
