// What to exchange, with whom, at which moment of a step: the interface that every strategy
// implements.
//
// One step, as a worker lives it:
//
//   before_forward -> forward -> backward { gradients_ready for each bucket } -> before_update ->
//   update -> parameters_updated
//
// A strategy is made with a Replica and an Endpoint and knows nothing else of model, data or
// engine.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "huddle/base/group.h"
#include "huddle/base/ids.h"
#include "huddle/record/meter.h"
#include "huddle/replica/replica.h"
#include "huddle/replica/replica_exchange.h"

namespace huddle {

// Who takes the optimizer step.
enum class Update {
  apply,  // The caller applies it to all parameters.
  done,   // The strategy or its server did; the parameters are new already.
  skip,   // Nobody: this step changes nothing.
};

// What a step came to.
struct Outcome {
  Group group;  // With whom this worker averaged.
  // Which average that was: equal for all who were in it. Only where the step does not say so,
  // because groups form on the way.
  std::optional<std::int64_t> meeting = {};
  double progress = 0;  // Steps of the run that are done, as learning rates should count them.
  bool go_on = true;    // False when the strategy says that training is over.
};

// Whether workers go through their steps together.
enum class Pace {
  lockstep,  // What is computed does not depend on how fast anybody is.
  own,       // Who is ready first has a say; a run ends when an Outcome says so.
};

// What is true of a strategy wherever it runs: declared in entry.h, held against it by tests.
struct Traits {
  Pace pace = Pace::lockstep;
  bool survives_loss = false;  // When a worker is lost, those who are left finish the run.
  StatisticsPolicy statistics = StatisticsPolicy::average;
};

// Named tensors and numbers: what a resumed run needs. Kept small; the replica itself is saved by
// the trainer. Tensors may share the strategy's memory: copy them before training goes on.
struct Archive {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::int64_t> numbers;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Called once, before the first step or `finish`: the replica holds the model to begin with.
  virtual void start() {}

  // Waits for whatever the forward pass needs.
  virtual void before_forward(Step) {}

  // A bucket's gradients are complete. Called during the last backward of the step, in the order of
  // the buckets.
  virtual void gradients_ready(Step, const Bucket&) {}

  // May wait.
  virtual Update before_update(Step) { return Update::apply; }

  // The exchange.
  virtual Outcome parameters_updated(Step step) = 0;

  // The step was offered but not taken (no data left, infinite gradients). Counts all the same.
  virtual Outcome skipped(Step step) { return {.progress = static_cast<double>(step.value + 1)}; }

  // Completes whatever is in flight. No step follows it.
  virtual void finish() {}

  // Further models worth evaluating (an anchor, a running mean), by name, each like the flat
  // parameters. May wait for them. REQUIRES: between two steps, or after `finish`.
  virtual std::map<std::string, at::Tensor> models() const { return {}; }

  // What the strategy counted of the run, by name ("p_reduce.bridges"): of all workers together,
  // told by one of them. REQUIRES: after `finish`.
  virtual std::map<std::string, double> figures() const { return {}; }

  // With load: what a resumed run needs beyond the replica. May wait for what is in flight, which
  // changes nothing in how the run goes on. REQUIRES: between two steps, or after `finish`.
  virtual void save(Archive&) const {}
  virtual void load(const Archive&) {}
};

}  // namespace huddle
