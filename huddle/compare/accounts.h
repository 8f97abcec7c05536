// Where the time of a strategy went, told so that a sentence can say whom it waited for.
//
// What a worker of a ring or a doubling loses to a slow one that is not its neighbour counts as
// exchange, not as wait. Where all workers take the same steps there is another witness: time that
// others are blocked and the slowest one is not, they have lost to it.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "huddle/compare/comparison.h"

namespace huddle {

// Shares of the time of all workers, over all seeds. Hidden runs beside computing.
struct Account {
  double computing = 0;
  double waiting = 0;                // For `slowest`, or else until peers' first bytes.
  std::vector<std::size_t> slowest;  // Empty unless the figures show that others wait for them.
  double exchanging = 0;             // The rest of the time that workers are blocked.
  double hidden = 0;
  bool fills_a_link = false;  // Some link was busy for about as long as workers exchange.
};

// Nothing where no run that ended well tells its time.
std::optional<Account> account_of(const std::vector<const RunOutcome*>& outcomes);

// "waits 33 % of the time for worker 5 and spends 44 % on the network".
std::string account_text(const Account& account);

// "a, b and c".
std::string listed(const std::vector<std::string>& words);

}  // namespace huddle
