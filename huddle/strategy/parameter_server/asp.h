// Asynchronous parallel SGD with a parameter server that is sharded over all workers, and the same
// with a bound on how far workers may be apart.
//
// asp: a server applies every gradient when it arrives, with 1/N of the learning rate, and answers
// at once: nobody waits for anybody, and a gradient is N - 1 updates old on average when
// all are equally fast. With `delay_scaled=on` a gradient that is tau updates old counts 1 / (1 +
// tau) instead of 1 / N (the idea of the heterogeneity-aware parameter server, DOI
// 10.1145/3035918.3035933, which publishes scaling by a constant and by the delay; this formula is
// ours).
//
// ssp (stale synchronous parallel): as asp, but a worker with c finished steps begins the next one
// only if c - min_j c_j <= bound. bound=0 is a barrier at every step; in the long run the slowest
// worker sets everybody's pace, whatever the bound.
//
// Server, messages and cost: parameter_server.h. What a worker does: served.h.

#pragma once

#include <memory>

#include "huddle/strategy/registry.h"

namespace huddle {

SpecInfo asp_info();
std::unique_ptr<Strategy> make_asp(const Options& options, const StrategyContext& context);

SpecInfo ssp_info();
std::unique_ptr<Strategy> make_ssp(const Options& options, const StrategyContext& context);

// Nothing contradicts a server: every value that the keys allow works in every setting.
inline void check_served(const Options&, const StrategySetting&) {}

}  // namespace huddle
