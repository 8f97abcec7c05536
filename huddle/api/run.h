// A run of a user's own body, with all that Huddle can tell of it: figures as a value, and records,
// timeline and page in a folder.
// docs/library.md has an example.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "huddle/api/engine.h"
#include "huddle/record/record.h"
#include "huddle/report/own_files.h"
#include "huddle/train/worker.h"

namespace huddle {

struct RunOptions {
  // The folder of steps.jsonl and summary.json (docs/files.md); empty: nothing is written.
  std::filesystem::path out;
  bool report = true;               // report.html too, where this build can make pages.
  bool timeline = false;            // timeline.json too (docs/timeline.md).
  Older older = Older::refuse;      // What becomes of an earlier run in `out`.
  std::int64_t evaluate_every = 0;  // Steps of the run between two models that are judged after it,
                                    // for a curve; 0: only the last is. See Worker::evaluate.
  std::uint64_t seed = 1;           // Of the cluster's random events.
  std::string data = "own";         // What records call it.
  std::int64_t batch = 0;           // Samples of a worker and step, for the figures; 0: not told.
  std::string title = "own model";  // What the timeline is called.
};

// Runs `body` once for each worker, on threads of its own, and returns when all have ended. The
// summary tells of the model that each worker attached first; its status is "diverged" where the
// losses at its end are not finite. Throws UsageError before anything has begun, and else what a
// body threw, with the records of all until then in the folder. What is in `out` and is not of a
// run of Huddle is never replaced.
Summary run(const Engine& engine, const std::function<void(Worker&)>& body,
            const RunOptions& options = {});

}  // namespace huddle
