// The files a run leaves behind: steps.jsonl, one line per worker and step while it runs, and
// summary.json at its end.
//
// They are what every later report is made from, so they must survive a bad end: a line goes to the
// operating system in one piece as soon as it is appended (about a microsecond; the page cache is
// the buffer), and the summary replaces its file whole. After an interruption or a crash of the
// process every line is there, and every line but possibly the last is whole. Numbers that are not
// finite, such as a diverged loss, become null, which keeps each line valid JSON.

#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "huddle/record/record.h"

namespace huddle {

// What summary.json holds, as text. Keys: see docs/files.md.
std::string summary_json(const Summary& summary, const std::string& version);

class RunFiles {
 public:
  // Makes the folder, removes the files of an earlier run from it and begins steps.jsonl.
  // Throws UsageError naming the folder and the reason where files cannot be written there.
  explicit RunFiles(std::filesystem::path directory);

  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  // Adds one line. Any thread may call it; lines of one thread keep their order. Throws Error where
  // the line cannot be written (a full disk), and then leaves none of it behind. REQUIRES: not
  // closed.
  void append(const StepRecord& record);

  // Writes summary.json, replacing an earlier one as a whole. Throws Error where it cannot.
  void write_summary(const Summary& summary, const std::string& version);

  // Ends steps.jsonl; later calls do nothing. Throws Error where the system reports a late failure
  // to write.
  void close();

 private:
  const std::filesystem::path directory_;
  const std::filesystem::path steps_path_;

  // Workers of one process share the file, and this mutex is all that orders their lines. It is
  // held for one write and never across a wait for a peer, so it cannot join a deadlock between
  // workers.
  std::mutex mutex_;
  int steps_file_ = -1;           // Guarded by mutex_; -1 when closed.
  std::int64_t whole_bytes_ = 0;  // Guarded by mutex_. The length of all whole lines.
};

}  // namespace huddle
