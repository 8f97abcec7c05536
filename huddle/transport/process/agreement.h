// What the processes of a run settle before its workers begin: that all of them mean the same run,
// and what the time is.

#pragma once

#include <string>

#include "huddle/transport/endpoint.h"

namespace huddle {

// Returns once all have the same terms; otherwise throws UsageError, with the same words on all
// workers, that shows who differs in what. All workers call it.
void agree(Endpoint& endpoint, const std::string& terms, Deadline deadline);

// By how much worker 0's clock is ahead of this one's. All workers call it.
Seconds clock_lead(Endpoint& endpoint, Deadline deadline);

}  // namespace huddle
