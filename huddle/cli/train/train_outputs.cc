#include "huddle/cli/train/train_outputs.h"

#include <nlohmann/json.hpp>

#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/cli/train/train_check.h"
#include "huddle/report/own_files.h"

namespace huddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Whether --out has the summary of the run that is resumed.
bool holds_this_run(const TrainConfig& config) {
  const fs::path file = fs::path(config.out) / "summary.json";
  if (config.resume.empty()) return false;
  if (is_same_path(config.out, config.resume)) return true;
  if (!fs::exists(file)) return true;  // A run that was killed leaves its steps, and no summary.
  if (!is_own(file, OwnFile::summary)) return false;
  const Json found = Json::parse(read_file(file, kMostResultBytes), nullptr, false);
  const Json wanted = {{"strategy", config.strategy}, {"data", config.data},
                       {"split", config.split},       {"optimizer", config.optimizer},
                       {"workers", config.workers},   {"batch", config.batch},
                       {"seed", config.seed}};
  for (const auto& [key, value] : wanted.items())
    if (!found.is_object() || found.value(key, Json()) != value) return false;
  return true;
}

void check_out(const TrainConfig& config, Older older) {
  if (holds_this_run(config)) older = Older::replace;
  const std::string place = concat("--out ", config.out);
  const fs::path folder = config.out;
  check_replaceable(folder / "summary.json", OwnFile::summary, older, place);
  check_replaceable(folder / "steps.jsonl", OwnFile::steps, older, place);
}

// Tensors do not tell who wrote them; the checkpoint.json beside them does.
void check_save(const TrainConfig& config, Older older) {
  const fs::path folder = config.save;
  const std::string place = concat("--save ", config.save);
  const bool has_checkpoint = fs::exists(folder / "checkpoint.json");
  require(
      has_checkpoint || !fs::exists(folder / "consensus.pt"),
      concat(place, ": there is a consensus.pt without a checkpoint.json of Huddle's beside it, ",
             "and it is not replaced; name another folder."));
  if (is_same_path(config.save, config.resume)) older = Older::replace;
  check_replaceable(folder / "checkpoint.json", OwnFile::checkpoint, Older::replace, place);
  require(!has_checkpoint || older == Older::replace,
          concat(place, ": it holds a checkpoint already; go on from it with --resume ",
                 config.save, ", name another folder, or give it up with --replace."));
}

// What one option writes must not be what another writes, or a folder of it.
void check_apart(const TrainConfig& config) {
  struct Written {
    std::string option;
    fs::path path;
  };
  std::vector<Written> files;
  std::vector<Written> folders;
  const auto add = [&](const std::string& option, const std::string& folder,
                       std::initializer_list<const char*> names) {
    if (folder.empty()) return;
    folders.push_back({concat(option, " ", folder), folder});
    for (const char* name : names)
      files.push_back({concat(option, " ", folder), fs::path(folder) / name});
  };
  add("--out", config.out, {"summary.json", "steps.jsonl"});
  add("--save", config.save, {"checkpoint.json", "consensus.pt"});
  if (!config.timeline.empty())
    folders.push_back({concat("--timeline ", config.timeline), config.timeline});
  for (const Written& one : folders)
    for (const Written& file : files)
      require(!is_same_path(one.path.string(), file.path.string()),
              concat(one.option, " is a file that ", file.option,
                     " writes; name another, as out/elsewhere."));
}

}  // namespace

bool is_same_path(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  return fs::weakly_canonical(fs::absolute(one) / "") ==
         fs::weakly_canonical(fs::absolute(other) / "");
}

void check_outputs(const TrainConfig& config) {
  const bool writes = !config.out.empty() || !config.timeline.empty() || !config.save.empty();
  require(writes || !config.replace,
          "--replace would do nothing: there is no --out, --save or --timeline; leave it out.");
  check_apart(config);
  const Older older = config.replace ? Older::replace : Older::refuse;
  if (!config.out.empty()) check_out(config, older);
  if (!config.timeline.empty())
    check_replaceable(config.timeline, OwnFile::timeline, older,
                      concat("--timeline ", config.timeline));
  if (!config.save.empty()) check_save(config, older);
}

}  // namespace huddle
