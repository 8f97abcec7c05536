// How services wait: programs beside a worker that answer whoever asks.
//
// A service that nobody asks has not lost anybody: workers compute, and a step may take longer than
// any deadline. Whoever is late keeps workers waiting, who have deadlines of their own. So a
// service waits for as long as it takes, and only looks up now and then. Death still ends the wait,
// and so does whoever ends the service.

#pragma once

#include <cstddef>
#include <span>

#include "huddle/transport/pending.h"

namespace huddle {

// Like Pending::wait, but for Timeout.
void wait_patiently(Pending& pending);

// Like wait_any, but for Timeout.
std::size_t wait_patiently(std::span<Pending* const> pendings);

}  // namespace huddle
