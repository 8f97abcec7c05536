// The rounds of eager-SGD: averages of what each worker has by then, taken by a program beside the
// worker. What the rounds mean: eager.h.

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "huddle/base/random.h"
#include "huddle/collective/average.h"
#include "huddle/record/meter.h"
#include "huddle/transport/requests.h"

namespace huddle {

// What a finished round came to; equal on all workers but for the exchange.
struct PartialRound {
  at::Tensor mean;             // Sum of the contributions over the number of workers.
  std::int64_t gradients = 0;  // In all contributions together.
  double learning_rate = 0;    // Of whoever began it; the largest where several did.
  bool is_last = false;        // Everybody had said that it leaves.
  Exchange exchange;
};

// Used by the worker's own thread.
class PartialRounds {
 public:
  enum class Mode { solo, majority };
  struct How {
    Mode mode = Mode::majority;
    Random::Seed seed = 0;  // Of the draw of who begins a round.
    Averaging averaging;
  };

  // The endpoint outlives this.
  PartialRounds(Endpoint& endpoint, const How& how);

  // Takes part in rounds from now on. `like`: a tensor like the gradients.
  void start(const at::Tensor& like);

  // Adds to this worker's next contribution.
  void contribute(const at::Tensor& gradients);

  // From now on this worker contributes nothing and soon begins no rounds. It still takes part.
  void leave();

  // The rounds that have finished since the last call, at least one: waits for it, and begins it
  // where that is this worker's turn, with this learning rate.
  std::vector<PartialRound> take(double learning_rate);

  // After the last round: waits for the program's end.
  void finish() { service_.join(); }

 private:
  // Tells everybody's program that a round begins, whose number is that of the request; and a
  // worker by its own program that one has finished.
  struct Begin {
    static auto fields(auto&) { return std::tuple<>(); }
  };
  struct Finished {
    std::int64_t round = 0;
    static auto fields(auto& self) { return std::tie(self.round); }
  };

  void begin_round_if_due(double learning_rate);
  bool may_begin() const;
  void hear_of_a_round();
  void serve(Endpoint& endpoint);
  PartialRound run_round(Endpoint& endpoint, std::int64_t round, Averager& averager);

  Endpoint& endpoint_;
  const How how_;
  std::int64_t taken_ = 0;       // Rounds.
  std::vector<bool> leaving_;    // By worker, as everybody knows it after the last round taken.
  at::Tensor contribution_;      // The round's that is under way.
  struct Shared {                // Used in exclusive bodies.
    at::Tensor sum;              // Of gradients that are in no round yet.
    std::int64_t gradients = 0;  // In `sum`.
    bool leaves = false;
    std::int64_t begun = -1;  // The last round that this worker began, and its rate for it.
    double learning_rate = 0;
    std::deque<PartialRound> finished;      // Not taken yet.
    std::deque<std::vector<bool>> leaving;  // After each of them.
  };
  Shared shared_;
  Service service_;  // Last: it ends before what it uses.
};

}  // namespace huddle
