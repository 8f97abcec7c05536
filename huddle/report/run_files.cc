#include "huddle/report/run_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

using Json = nlohmann::ordered_json;

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

std::string json_number(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

// One line of steps.jsonl. By hand, not through a JSON object: a step of a small model takes
// microseconds, and so must its record.
fmt::memory_buffer step_line(const StepRecord& record) {
  fmt::memory_buffer line;
  const auto out = std::back_inserter(line);
  fmt::format_to(
      out, R"({{"worker":{},"step":{},"progress":{},"end":{},"loss":{},"learning_rate":{},)",
      record.worker.value, record.step.value, json_number(record.progress), json_number(record.end),
      json_number(record.loss), json_number(record.learning_rate));
  fmt::format_to(out, R"("time":{{"compute":{},"wait":{},"exchange":{},"hidden":{}}},)",
                 json_number(record.time.compute), json_number(record.time.wait),
                 json_number(record.time.exchange), json_number(record.time.hidden));
  fmt::format_to(out, R"("bytes_sent":{},"messages_sent":{},"group":[)", record.bytes_sent,
                 record.messages_sent);
  for (int position = 0; position < record.group.size(); ++position)
    fmt::format_to(out, "{}{}", position == 0 ? "" : ",", record.group[position].value);
  fmt::format_to(out, "]");
  if (record.meeting) fmt::format_to(out, R"(,"meeting":{})", *record.meeting);
  fmt::format_to(out, "}}\n");
  return line;
}

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

Json accuracy_json(const Summary& summary) {
  const std::optional<WorkerAccuracy> workers = worker_accuracy(summary);
  Json accuracy = {
      {"consensus", or_null(summary.consensus ? summary.consensus->accuracy : std::nullopt)},
      {"worker_mean", workers ? Json(workers->mean) : Json(nullptr)},
      {"worker_min", workers ? Json(workers->smallest) : Json(nullptr)}};
  if (summary.swa) accuracy["swa"] = or_null(summary.swa->accuracy);
  for (const auto& [name, quality] : summary.others) accuracy[name] = or_null(quality.accuracy);
  return accuracy;
}

Json test_loss_json(const Summary& summary) {
  Json loss = {{"consensus", summary.consensus ? Json(summary.consensus->loss) : Json(nullptr)},
               {"worker_mean", or_null(worker_test_loss(summary))}};
  if (summary.swa) loss["swa"] = summary.swa->loss;
  for (const auto& [name, quality] : summary.others) loss[name] = quality.loss;
  return loss;
}

// Of the consensus; null where there are no classes.
Json by_class_json(const Summary& summary) {
  const bool has_classes = summary.consensus && !summary.consensus->by_class.empty();
  return has_classes ? Json(summary.consensus->by_class) : Json(nullptr);
}

Json curve_json(const Summary& summary) {
  Json list = Json::array();
  for (const CurvePoint& point : summary.curve)
    list.push_back({{"progress", point.progress},
                    {"time", point.time},
                    {"loss", point.consensus.loss},
                    {"accuracy", or_null(point.consensus.accuracy)},
                    {"drift", point.drift}});
  return list;
}

Json time_json(const Summary& summary) {
  Json list = Json::array();
  for (const TimeSplit& time : summary.time)
    list.push_back({{"worker", list.size()},
                    {"compute", time.compute},
                    {"exchange", time.exchange},
                    {"wait", time.wait},
                    {"hidden", time.hidden}});
  return list;
}

Json links_json(const Summary& summary) {
  Json list = Json::array();
  for (const LinkUse& link : summary.links)
    list.push_back({{"name", link.name},
                    {"bytes", link.bytes},
                    {"busy", link.busy},
                    {"full", link.full},
                    {"bytes_per_second", link.bytes_per_second}});
  return list;
}

Json summary_object(const Summary& summary, const std::string& version) {
  return {{"strategy", summary.strategy},
          {"engine", summary.engine},
          {"model", summary.model},
          {"data", summary.data},
          {"split", summary.split},
          {"optimizer", summary.optimizer},
          {"status", summary.status},
          {"workers", summary.workers},
          {"batch", summary.batch},
          {"steps", summary.steps},
          {"steps_done", summary.steps_done},
          {"steps_taken", summary.steps_taken},
          {"steps_by_worker", summary.steps_by_worker},
          {"seed", summary.seed},
          {"version", version},
          {"machine", machine_description()},
          {"parameters", summary.parameters},
          {"seconds", summary.seconds},
          {"samples_per_second", summary.samples_per_second},
          {"loss", summary.loss},
          {"accuracy", accuracy_json(summary)},
          {"accuracy_by_class", by_class_json(summary)},
          {"test_loss", test_loss_json(summary)},
          {"curve", curve_json(summary)},
          {"drift", or_null(summary.drift)},
          {"figures", summary.figures},
          {"bytes_sent_per_worker", summary.bytes_sent_per_worker},
          {"time", time_json(summary)},
          {"cluster", summary.cluster.empty() ? Json(nullptr) : Json(summary.cluster)},
          {"network", summary.network.empty() ? Json(nullptr) : Json(summary.network)},
          {"links", links_json(summary)},
          {"lost", summary.lost},
          {"warnings", summary.warnings}};
}

}  // namespace

std::string summary_json(const Summary& summary, const std::string& version) {
  return summary_object(summary, version).dump(2, ' ', false, Json::error_handler_t::replace);
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
  const fmt::memory_buffer line = step_line(record);
  const std::scoped_lock lock(mutex_);
  check(steps_file_ >= 0, "a record is appended to files that are closed");
  if (write_all(steps_file_, {line.data(), line.size()})) {
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
