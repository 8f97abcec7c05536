// A wire over UCX: shared memory, TCP or RDMA, whatever it finds between two processes. It notices
// that a peer's process has ended, and goes on with all others.
//
// Messages are UCX's active messages: small ones arrive with their header, of large ones the header
// arrives and the data is fetched into place. Connections report failures
// (UCP_ERR_HANDLING_MODE_PEER), without which a dead peer would be waited for.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "huddle/transport/process/wire.h"

namespace huddle {

// Tells all processes the address of this one, and returns those of all, by worker.
using ExchangeAddresses = std::function<std::vector<std::string>(const std::string& own)>;

// Connected to all workers. Throws UsageError where UCX cannot be had, and what `exchange` throws.
std::unique_ptr<Wire> make_ucx_wire(WorkerId self, int workers, const ExchangeAddresses& exchange);

}  // namespace huddle
