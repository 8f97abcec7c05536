// What a run writes while it goes on and at its end, whether it is one of `huddle train` or of a
// user's own body: records (docs/files.md) and a timeline (docs/timeline.md).

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "huddle/api/engine.h"
#include "huddle/report/run_files.h"
#include "huddle/report/timeline.h"
#include "huddle/train/trainer.h"

namespace huddle {

// Stays where it is: those who tell it of a run refer to it.
class RunOutputs {
 public:
  struct Places {
    std::filesystem::path folder;    // Of the records; empty: there are none.
    std::filesystem::path timeline;  // The file; likewise.
  };
  explicit RunOutputs(Places places) : places_(std::move(places)) {}
  RunOutputs(const RunOutputs&) = delete;
  RunOutputs& operator=(const RunOutputs&) = delete;

  // For the engine of the run, which is made before the files are; empty without a timeline.
  // REQUIRES: called by the engine after `open` only; this outlives it.
  LinkLoadObserver link_loads();

  // Makes the files, and sets `run.keeps_blocked` and `run.finished` as they need it; what is set
  // refers to this. The last thing to be prepared: nothing is
  // left behind by a run that is refused. Throws UsageError where a file cannot be written.
  void open(const Engine& engine, const std::string& title, TrainOptions& run);

  // After each step, by any worker's thread. Throws Error where the disk is full.
  void add(const StepRecord& record);

  // The run is over: completes the timeline, then writes summary.json. Throws Error where it
  // cannot.
  void close(const Summary& summary);

 private:
  const Places places_;
  std::unique_ptr<RunFiles> files_;
  std::unique_ptr<TimelineFile> timeline_;
};

}  // namespace huddle
