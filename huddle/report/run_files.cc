#include "huddle/report/run_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/report/format.h"
#include "huddle/report/record_fields.h"
#include "huddle/report/step_lines.h"

namespace huddle {
namespace {

int create(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

[[noreturn]] void refuse(const std::filesystem::path& directory, const std::string& why) {
  throw UsageError(concat("cannot write into the folder '", directory.string(), "': ", why,
                          ". Name a folder that can be made and written to."));
}

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw Error(concat("cannot write '", path.string(), "': ", system_message(error), "."));
}

std::filesystem::path summary_path(const std::filesystem::path& directory) {
  return directory / "summary.json";
}

// Makes the folder and finds out at the start, by creating and removing a file, whether the summary
// can be written at the end. Permissions alone would not tell: the disk may be full or mounted
// read-only.
void prepare(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) refuse(directory, error.message());
  const std::filesystem::path summary = summary_path(directory);
  std::filesystem::remove(summary, error);
  if (!error) error = replace_file(summary, {"{}\n"});
  if (!error) std::filesystem::remove(summary, error);
  if (error) refuse(directory, concat("summary.json: ", error.message()));
}

}  // namespace

std::string summary_json(const Summary& summary, const std::string& version) {
  return written(SummaryFile{summary, version, machine_description()})
      .dump(2, ' ', false, Json::error_handler_t::replace);
}

RunFiles::RunFiles(std::filesystem::path directory)
    : directory_(std::move(directory)), steps_path_(directory_ / "steps.jsonl") {
  prepare(directory_);
  steps_file_ = create(steps_path_);
  if (steps_file_ < 0) refuse(directory_, concat("steps.jsonl: ", system_message(errno)));
}

RunFiles::~RunFiles() {
  if (steps_file_ >= 0) ::close(steps_file_);
}

void RunFiles::append(const StepRecord& record) {
  const std::string line = step_line(record);
  const std::scoped_lock lock(mutex_);
  check(steps_file_ >= 0, "a record is appended to files that are closed");
  if (write_all(steps_file_, line)) {
    whole_bytes_ += static_cast<std::int64_t>(line.size());
    return;
  }
  const int error = errno;
  // Part of the line may be there. What cannot be cut off (a device in place of the file) needs no
  // cutting.
  if (::ftruncate(steps_file_, whole_bytes_) == 0) ::lseek(steps_file_, whole_bytes_, SEEK_SET);
  fail(steps_path_, error);
}

void RunFiles::write_summary(const Summary& summary, const std::string& version) {
  // A reason for failure may quote bytes that are not UTF-8; they are replaced rather than lose the
  // summary.
  const std::string text = summary_json(summary, version) + "\n";
  const std::error_code error = replace_file(summary_path(directory_), {text});
  if (error) fail(summary_path(directory_), error.value());
}

void RunFiles::close() {
  const std::scoped_lock lock(mutex_);
  if (steps_file_ < 0) return;
  if (::close(std::exchange(steps_file_, -1)) != 0) fail(steps_path_, errno);
}

}  // namespace huddle
