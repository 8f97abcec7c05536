// Which combinations of parts have a recurrence, and that the others are refused with a way out.

#include "huddle/strategy/local_sgd/composition.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace huddle {
namespace {

using Choice = std::tuple<RoundPayload, Delay, Merge, Outer>;

std::set<Choice> defined_choices() {
  std::set<Choice> defined;
  for (const RoundPayload payload :
       {RoundPayload::model, RoundPayload::delta, RoundPayload::elastic})
    for (const Delay delay : {Delay::none, Delay::one_round})
      for (const Merge merge : {Merge::overwrite, Merge::pull_back, Merge::keep_displacement})
        for (const Outer outer : {Outer::none, Outer::heavy_ball, Outer::nesterov})
          if (why_undefined({.payload = payload, .delay = delay, .merge = merge, .outer = outer})
                  .empty())
            defined.insert({payload, delay, merge, outer});
  return defined;
}

TEST(Composition, IsDefinedForExactlyTheKnownRecurrences) {
  std::set<Choice> known = {
      {RoundPayload::model, Delay::one_round, Merge::keep_displacement, Outer::none}};
  for (const Outer outer : {Outer::none, Outer::heavy_ball, Outer::nesterov})
    for (const RoundPayload payload : {RoundPayload::model, RoundPayload::delta})
      known.insert({payload, Delay::none, Merge::overwrite, outer});
  for (const Delay delay : {Delay::none, Delay::one_round}) {
    known.insert({RoundPayload::elastic, delay, Merge::pull_back, Outer::none});
    known.insert({RoundPayload::model, delay, Merge::pull_back, Outer::none});
    known.insert({RoundPayload::model, delay, Merge::pull_back, Outer::heavy_ball});
  }
  EXPECT_EQ(defined_choices(), known);
}

void expect_reason(const Composition& parts, const std::string& part) {
  const std::string reason = why_undefined(parts);
  EXPECT_NE(reason.find(part), std::string::npos) << reason;
}

TEST(Composition, SaysWhyAndWhatToUse) {
  expect_reason({.delay = Delay::one_round}, "local steps of that round would be lost");
  expect_reason({.merge = Merge::keep_displacement}, "that is local_sgd");
  expect_reason({.payload = RoundPayload::delta, .merge = Merge::pull_back}, "use diloco");
  expect_reason({.scope = Scope::grid, .outer = Outer::heavy_ball}, "local_sgd:scope=grid");
  expect_reason({.scope = Scope::grid, .merge = Merge::pull_back}, "one for all workers");
  expect_reason({.inner = Inner::rack, .scope = Scope::grid}, "divide racks");
  expect_reason(
      {.delay = Delay::one_round, .merge = Merge::keep_displacement, .slots = SlotPolicy::average},
      "slots=reset");
}

}  // namespace
}  // namespace huddle
