// The end of a round: one operation, whatever the parts (composition.h) it is made of.
//
//   wait for what is in flight -> merge it with the own model -> outer step -> launch
//
// With a delay the average launched here is what the next boundary waits for, so a worker blocks
// only if it takes longer than a round. Without one it is waited for at once; where it overwrites
// the model (local_sgd, slowmo, diloco), merging and outer step then follow it. Merge, momentum and
// the next proposal are one pass over memory (boundary_passes.h).
//
// Memory beyond the parameters, in models: local_sgd 0; easgd, overlap_local_sgd 1; with momentum,
// and for cocod and slowmo, 2; diloco 3. All of it is allocated here, before the first round.
// (Where averages travel as messages, the averager has one more, as in every strategy but cocod;
// where they travel rounded, what that loses has another, made at the first boundary.)

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "huddle/replica/averages_in_flight.h"
#include "huddle/replica/late_values.h"
#include "huddle/strategy/entry.h"
#include "huddle/strategy/local_sgd/composition.h"

namespace huddle {

class Boundary {
 public:
  // REQUIRES: a combination that is defined.
  Boundary(const Composition& parts, const StrategyContext& context);

  // Everybody holds the same model, and a round begins: anchors and momentum start here.
  void start();

  // Ends round number `number` (0, 1, ...), in which this worker meets `group`. Blocks as the delay
  // says.
  void run(std::int64_t number, const Group& group);

  // Completes what is in flight, and counts it. What arrives is not merged: a later `run` would
  // still do that.
  void finish();

  // The model that workers are pulled towards, formed at the last boundary; undefined for methods
  // without. May wait for it.
  at::Tensor anchor() const;

  // Waits for what is in flight and keeps it unmerged, so a resumed run merges it at its next
  // boundary, as this one does.
  void save(Archive& archive) const;
  void load(const Archive& archive);

 private:
  void overwrite(std::int64_t number, const Group& group);
  void pull(std::int64_t number, const Group& group);
  void exchange(std::int64_t number, const Group& group);
  double outer_momentum() const;
  std::map<std::string, at::Tensor> tensors() const;

  Endpoint& endpoint_;
  Replica& replica_;
  const Composition parts_;

  // Undefined where the parts do not need them.
  const at::Tensor travelling_;  // A proposal that becomes the anchor, or a delta; else the model.
  const at::Tensor reference_;   // The common model; the anchor before; or what this worker sent.
  const at::Tensor velocity_;    // The outer optimizer's.
  const LateValues statistics_;  // Where they arrive a round late.
  double previous_rate_ = 0;     // The learning rate at the last boundary; 0: there was none.

  ReplicaExchange exchange_;

  // Waiting for what is in flight changes nothing but the time, so const functions may do it.
  // Last: what is under way ends before what it uses.
  mutable AveragesInFlight in_flight_;
};

}  // namespace huddle
