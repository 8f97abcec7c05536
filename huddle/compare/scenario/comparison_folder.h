// The folder of a comparison, and what of it need not be done again.
//
//   cases/<case>.toml     the cluster of each case
//   runs/<id>/            what `huddle train --out` leaves, and run.json: by which command
//   results.json          the whole
//   report.html           the same for people

#pragma once

#include <filesystem>
#include <string>

#include "huddle/base/ids.h"
#include "huddle/compare/scenario/comparison_plan.h"
#include "huddle/report/own_files.h"

namespace huddle {

// Belongs to one process at a time.
class ComparisonFolder {
 public:
  // Makes the folder and writes the clusters of all cases. `program`: what the runs are made with;
  // those of another program are not taken over. Throws UsageError where it cannot be written,
  // while another comparison is at work there, where files would be replaced that Huddle has not
  // written, and where it holds the comparison of another scenario that `older` does not give up.
  ComparisonFolder(std::filesystem::path path, const Scenario& scenario, const ComparisonPlan& plan,
                   std::string program, Older older = Older::refuse);
  ~ComparisonFolder();
  ComparisonFolder(const ComparisonFolder&) = delete;
  ComparisonFolder& operator=(const ComparisonFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path run(const PlannedRun& run) const;

  // Whether the very same run has been made and has come to its end.
  bool is_done(const PlannedRun& run) const;

  // Whether it has, but by another build of the program.
  bool is_outdated(const PlannedRun& run) const;

  // Empties the run's folder, and notes by which command it is going to be filled.
  void begin(const PlannedRun& run) const;

  // Notes how long it took.
  void end(const PlannedRun& run, Seconds seconds) const;

  // From now on it is as if the run had not been made, whatever it wrote.
  void disown(const PlannedRun& run) const;

  // How long it took when it was made; 0 where nobody knows.
  Seconds seconds_of(const PlannedRun& run) const;

  // Replaces a file of the folder as a whole. Throws Error where it cannot.
  void write(const std::string& name, const std::string& text) const;

 private:
  enum class Build { this_one, any };
  bool has_outcome_of(const PlannedRun& run, Build by) const;
  std::string note(const PlannedRun& run, Seconds seconds) const;

  const std::filesystem::path path_;
  const std::string program_;
  std::vector<std::string> clusters_;  // By case.
  int lock_ = -1;
};

// Tells one build of the running program from another.
std::string program_identity();

}  // namespace huddle
