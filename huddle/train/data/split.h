// How the samples of a data set are dealt out among workers: alike, or so that each worker sees
// other classes.
//
// - `iid`: every worker draws from all samples, dealt out anew each epoch.
// - `fixed`: equal random shards that never change.
// - `dirichlet:A`: per class, the workers' shares are drawn from Dirichlet(A); the smaller A, the
//   more unequal.
// - `skew:F`: equal shards, of which a share F is one class (0.64 in the Overlap-Local-SGD paper).
// - `rare:C`: equal shards, and the last worker alone holds class C: what becomes of it when that
//   worker is slow?
//
// A split is a pure function of (spec, labels, workers, seed): each worker computes it for itself,
// without a message.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "huddle/base/ids.h"
#include "huddle/base/random.h"

namespace huddle {

struct SplitSpec {
  enum class Kind { iid, fixed, dirichlet, skew, rare };

  Kind kind = Kind::iid;
  // Concentration (dirichlet, 0.01 to 1000), share of one class (skew, above 0 to 1) or class
  // (rare).
  double value = 0;

  bool operator==(const SplitSpec&) const = default;
};

// Throws UsageError with the nearest match or the allowed range.
SplitSpec parse_split(std::string_view text);

// What parse_split takes: `dirichlet:0.5`.
std::string to_string(const SplitSpec& split);

// The sample indices of each worker.
using Shards = std::vector<std::vector<std::int64_t>>;

// Deals out samples 0..labels.size()-1 with these labels; no sample goes to two workers. `fixed`
// and `skew` make shards of equal size and leave out the remainder of samples / workers;
// `dirichlet` leaves out nothing and may make empty shards; `rare` leaves out what
// the last worker has no room for. Throws UsageError where there is no such class. REQUIRES:
// workers > 0, labels >= 0, and a split other than `iid`, which has no shards.
Shards deal_out(const SplitSpec& split, std::span<const int> labels, int workers,
                Random::Seed seed);

// The class that `skew` gives most of to this worker: 0..classes-1 to the first workers, then again
// and again all odd classes followed by all even ones with 0 last. With 10 classes and 16 workers:
// 0 1 2 3 4 5 6 7 8 9 1 3 5 7 9 2. REQUIRES: classes > 0.
int main_class(WorkerId worker, int classes);

}  // namespace huddle
