#include "huddle/strategy/local_sgd/composition.h"

namespace huddle {
namespace {

std::string why_merge_undefined(const Composition& parts) {
  switch (parts.merge) {
    case Merge::overwrite:
      if (parts.payload == RoundPayload::elastic)
        return "an elastic payload moves an anchor, and only pulling back has one: use easgd.";
      if (parts.delay == Delay::one_round)
        return "an average that arrives a round late must not overwrite the model: the local steps "
               "of that round would be lost. Pull back (overlap_local_sgd) or keep the "
               "displacement (cocod).";
      return "";
    case Merge::pull_back:
      if (parts.payload == RoundPayload::delta)
        return "a delta is measured from a common model, and workers that are only pulled back "
               "have none: use diloco, or overlap_local_sgd.";
      if (parts.payload == RoundPayload::elastic && parts.outer != Outer::none)
        return "an elastic anchor moves with the models and has no momentum of its own: use "
               "easgd with a momentum optimizer, or overlap_local_sgd:beta=0.7.";
      if (parts.outer == Outer::nesterov)
        return "an anchor with momentum is a heavy ball; for Nesterov no recurrence is known: "
               "use overlap_local_sgd:beta=0.7, or diloco.";
      return "";
    case Merge::keep_displacement:
      if (parts.delay == Delay::none)
        return "without a delay there is no displacement to keep: that is local_sgd.";
      if (parts.payload != RoundPayload::model || parts.outer != Outer::none)
        return "keeping the displacement is defined for plain averages of models: use cocod.";
      return "";
  }
  return "";
}

}  // namespace

std::string why_undefined(const Composition& parts) {
  const std::string reason = why_merge_undefined(parts);
  if (!reason.empty()) return reason;
  const bool shares_a_model = parts.merge != Merge::overwrite || parts.outer != Outer::none ||
                              parts.payload != RoundPayload::model;
  if (parts.scope == Scope::grid && shares_a_model)
    return "scope=grid averages in groups that change at every boundary, but this method's anchor "
           "or outer model is one for all workers: use scope=all, or local_sgd:scope=grid.";
  if (parts.scope == Scope::grid && parts.inner == Inner::rack)
    return "inner=rack keeps a rack's models equal only while its workers receive equal averages, "
           "and the groups of scope=grid divide racks: use one of the two.";
  if (parts.slots == SlotPolicy::average && parts.delay == Delay::one_round)
    return "slots=average with an average that arrives a round late would mix old optimizer state "
           "into new, for which no recurrence is known: use slots=keep or slots=reset.";
  return "";
}

}  // namespace huddle
