// Asynchronous parallel SGD with a parameter server that is sharded over all workers, and the same
// with a bound on how far workers may be apart.
//
//   gradient at the parameters last received -> push each server its slice, bucket by bucket, while
//   backward goes on -> wait for all replies -> the parameters are the servers'
//
// asp: a server applies every gradient when it arrives, with 1/N of the learning rate, and replies
// at once: nobody waits for anybody, and a gradient is N - 1 updates old on average when
// all are equally fast. With `delay_scaled=on` a gradient that is tau updates old counts 1 / (1 +
// tau) instead of 1 / N (the idea of the heterogeneity-aware parameter server, DOI
// 10.1145/3035918.3035933, which publishes scaling by a constant and by the delay; this formula is
// ours).
//
// With `balance=on` a worker scales its gradients by a factor that the counting server tells it
// (shares.h), so that those who push less often are heard alike. Ours.
//
// ssp (stale synchronous parallel): as asp, but a worker with c finished steps begins the next one
// only if c - min_j c_j <= bound. bound=0 is a barrier at every step; in the long run the slowest
// worker sets everybody's pace, whatever the bound.
//
// Workers run no optimizer of their own: the rule, its momentum and its count of updates are the
// servers' (parameter_server.h, with the cost). BatchNorm statistics stay local: training never
// reads them, and the trainer averages them with the final models. The run ends after as many steps
// as all workers together were to take, whoever takes them.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry asp_entry();
StrategyEntry ssp_entry();

}  // namespace huddle
