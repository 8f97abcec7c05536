// DS-Sync (arXiv 2007.03298): a local step, then the model's average inside small groups that are
// re-drawn every step.
//
// Published: groups of 2 among 4 workers, alternating {0,1}{2,3} and {0,3}{1,2}; parameters and
// BatchNorm statistics averaged, optimizer state kept local. Our reconstruction for other numbers
// of workers: the most square grid, rows and columns in turn (16 workers: 4x4), a ragged grid where
// that is impossible, and groups that follow racks (schedule=rotating, DS-Sync v2). Everything else
// is in scheduled.h and schedule_kinds.h.

#pragma once

#include "huddle/strategy/entry.h"

namespace huddle {

StrategyEntry ds_sync_entry();

}  // namespace huddle
