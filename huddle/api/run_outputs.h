// What a run writes while it goes on and at its end, whether it is one of `huddle train` or of a
// user's own body: records (docs/files.md) and a timeline (docs/timeline.md).

#pragma once

#include <filesystem>
#include <memory>
#include <string>

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

  // For the engine of the run, which is made before the files are. Empty without a timeline.
  LinkLoadObserver link_loads();

  // Makes the files, and has `run` tell what they need. The last thing to be prepared: nothing is
  // left behind by a run that is refused. Throws UsageError where a file cannot be written.
  void open(const Engine& engine, const std::string& title, TrainOptions& run);

  // After each step, by the worker's own thread.
  void add(const StepRecord& record);

  // The run is over.
  void close(const Summary& summary);

 private:
  const Places places_;
  std::unique_ptr<RunFiles> files_;
  std::unique_ptr<TimelineFile> timeline_;
};

}  // namespace huddle
