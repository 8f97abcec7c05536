#include "huddle/collective/algorithms/pair.h"

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {

Plan pair_plan(int position, int members) {
  if (members != 2)
    throw UsageError(concat("algorithm 'pair' averages groups of 2, but a group has ", members,
                            " members; use ring, halving_doubling or direct."));
  const int peer = 1 - position;
  return {.segments = 1,
          .pieces = 1,
          .actions = {{Action::Verb::send, peer, 0, 1}, {Action::Verb::add, peer, 0, 1}}};
}

}  // namespace huddle
