#include "huddle/train/checkpoint/checkpoint_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Json = nlohmann::ordered_json;

// How files are laid out. A program that reads another format would guess.
constexpr int kFormat = 1;

Json entry(const std::string& file, const Json& worker, std::int64_t step,
           const std::string& hash) {
  return {
      {"file", file}, {"worker", worker}, {"step", step}, {"format", kFormat}, {"sha256", hash}};
}

// Reads one checkpoint.json.
class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view text)
      : path_(path), json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    if (!json_.is_object()) refuse("is truncated or not a checkpoint");
  }

  CheckpointInfo info() const {
    CheckpointInfo info{
        .step = whole(json_, "step", ""), .settings = settings(), .settled = settled()};
    const Json& files = member(json_, "files", "");
    if (!files.is_array()) wrong("", "files", files, "a list");
    for (const Json& file : files) add(file, info);
    for (std::size_t worker = 0; worker < info.workers.size(); ++worker)
      if (info.workers[worker].empty()) refuse(concat("names no file of worker ", worker));
    if (info.workers.empty()) refuse("names no file of any worker");
    return info;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(concat(path_.string(), " ", why,
                            ". Resume from a copy of the checkpoint, or begin anew without "
                            "--resume."));
  }

  [[noreturn]] void wrong(const std::string& where, const std::string& key, const Json& value,
                          const std::string& wanted) const {
    refuse(concat("has ", where, key, " = ", value.dump(-1, ' ', true, kReplace),
                  ", which must be ", wanted));
  }

  const Json& member(const Json& object, const char* key, const std::string& where) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse(concat("does not say ", where, key));
    return *found;
  }

  std::int64_t whole(const Json& object, const char* key, const std::string& where) const {
    const Json& value = member(object, key, where);
    if (!value.is_number_integer() || value < 0)
      wrong(where, key, value, "a whole number, 0 or more, as 300");
    return value.get<std::int64_t>();
  }

  std::map<std::string, std::string> settings() const {
    const Json& given = member(json_, "settings", "");
    if (!given.is_object()) wrong("", "settings", given, "an object");
    std::map<std::string, std::string> settings;
    for (const auto& [option, value] : given.items()) {
      if (!value.is_string()) wrong("settings.", option, value, "a text, as \"32\"");
      settings[option] = value.get<std::string>();
    }
    return settings;
  }

  // Those that were written before lack it.
  std::string settled() const {
    const auto found = json_.find("settled");
    if (found == json_.end()) return "";
    if (!found->is_string()) wrong("", "settled", *found, "a text, as \"bsp\"");
    return found->get<std::string>();
  }

  // Takes over one file, whose name, step and format must be those of this checkpoint.
  void add(const Json& file, CheckpointInfo& info) const {
    if (!file.is_object()) wrong("", "files", file, "a list of objects");
    const Json& name = member(file, "file", "files.file of a file, ");
    const std::string where = concat("files[", name.dump(-1, ' ', true, kReplace), "].");
    if (const std::int64_t format = whole(file, "format", where); format != kFormat)
      wrong(where, "format", format, concat(kFormat, ", the only one that this Huddle reads"));
    if (const std::int64_t step = whole(file, "step", where); step != info.step)
      wrong(where, "step", step, concat(info.step, ", that of the checkpoint"));
    const Json& hash = member(file, "sha256", where);
    if (!is_hash(hash)) wrong(where, "sha256", hash, "64 hexadecimal digits");
    if (const Json& worker = member(file, "worker", where); worker.is_null()) {
      if (name != kConsensusFile) wrong("", "file", name, kConsensusFile);
      info.consensus = hash.get<std::string>();
      return;
    }
    const std::int64_t worker = whole(file, "worker", where);
    const std::int64_t most = std::ssize(member(json_, "files", ""));
    if (worker >= most) wrong(where, "worker", worker, concat("less than ", most));
    if (info.folder.empty()) info.folder = folder_in(name, info.step);
    if (const std::string wanted =
            worker_file_name(info.folder, WorkerId{static_cast<int>(worker)});
        name != wanted)
      wrong("", "file", name, wanted);
    const auto index = static_cast<std::size_t>(worker);
    if (index >= info.workers.size()) info.workers.resize(index + 1);
    info.workers[index] = hash.get<std::string>();
  }

  // All files of workers are in that of the first.
  static std::string folder_in(const Json& name, std::int64_t step) {
    const std::array<std::string, 2> allowed = step_folder_names(step);
    const bool is_second = name.is_string() && name.get<std::string>().starts_with(allowed[1]);
    return allowed[is_second ? 1 : 0];
  }

  static bool is_hash(const Json& value) {
    if (!value.is_string()) return false;
    const auto text = value.get<std::string>();
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  }

  static constexpr auto kReplace = Json::error_handler_t::replace;

  const std::filesystem::path& path_;
  const Json json_;
};

}  // namespace

std::array<std::string, 2> step_folder_names(std::int64_t step) {
  const std::string name = fmt::format("step-{:06}", step);
  return {name, name + "-again"};
}

std::string worker_file_name(const std::string& folder, WorkerId worker) {
  return fmt::format("{}/worker-{}.pt", folder, worker.value);
}

std::string to_text(const CheckpointInfo& info) {
  Json files = Json::array();
  for (int worker = 0; worker < std::ssize(info.workers); ++worker)
    files.push_back(entry(worker_file_name(info.folder, WorkerId{worker}), worker, info.step,
                          info.workers[static_cast<std::size_t>(worker)]));
  if (info.consensus) files.push_back(entry(kConsensusFile, nullptr, info.step, *info.consensus));
  Json json{{"step", info.step}, {"settings", info.settings}};
  if (!info.settled.empty()) json["settled"] = info.settled;
  json["files"] = files;
  return json.dump(2) + "\n";
}

CheckpointInfo info_in(const std::filesystem::path& path, std::string_view text) {
  return Reader(path, text).info();
}

}  // namespace huddle
