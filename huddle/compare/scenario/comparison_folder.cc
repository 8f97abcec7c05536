#include "huddle/compare/scenario/comparison_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/text.h"
#include "huddle/compare/comparison_files.h"
#include "huddle/compare/result_fields.h"

namespace huddle {
namespace {

// The file that a comparison locks says whose it is, from its beginning on: this and the scenario.
constexpr const char* kLock = ".lock";
constexpr std::string_view kMark = "huddle compare ";

Json note_in(const std::filesystem::path& run) {
  const std::filesystem::path file = run / "run.json";
  return std::filesystem::is_regular_file(file)
             ? Json::parse(read_file(file, kMostTextBytes), nullptr, false)
             : Json();
}

int locked(const std::filesystem::path& folder, const std::string& scenario) {
  const int file = ::open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  const bool is_open = file >= 0;
  const bool is_ours = is_open && ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (is_ours && ::ftruncate(file, 0) == 0 && write_all(file, concat(kMark, scenario, "\n")))
    return file;
  const std::string why = system_message(errno);
  if (is_open) ::close(file);
  if (is_open && !is_ours)
    throw UsageError(concat("another comparison is at work in '", folder.string(),
                            "'; wait for it, or name another folder with --out."));
  throw UsageError(concat("cannot write into the folder '", folder.string(), "': ", why, "."));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UsageError(
        concat("cannot make the folder '", folder.string(), "': ", error.message(), "."));
}

// The scenario whose comparison is in the folder; nothing where there is none.
std::optional<std::string> compared_in(const std::filesystem::path& folder) {
  if (std::filesystem::is_regular_file(folder / kLock)) {
    const std::string mark = read_file(folder / kLock, kMostTextBytes);
    if (mark.starts_with(kMark) && mark.ends_with('\n'))
      return mark.substr(kMark.size(), mark.size() - kMark.size() - 1);
  }
  const std::filesystem::path results = folder / "results.json";
  if (!is_own(results, OwnFile::results)) return {};
  Results found;
  read_into(Json::parse(read_file(results, kMostResultBytes), nullptr, false), found);
  return found.comparison.name;
}

// Throws UsageError unless a comparison of `scenario` may be written there. True: one of another
// scenario is to be given up.
bool check_contents(const std::filesystem::path& folder, const std::string& scenario, Older older) {
  const std::string place = concat("--out ", folder.string());
  check_replaceable(folder / "results.json", OwnFile::results, Older::replace, place);
  check_replaceable(folder / "report.html", OwnFile::report, Older::replace, place);
  const std::optional<std::string> before = compared_in(folder);
  for (const char* part : {"summary.json", "steps.jsonl"})
    if (std::filesystem::exists(folder / part))
      throw UsageError(concat(place, ": it holds a run (", part, "); name another folder."));
  for (const char* part : {"cases", "runs", kLock})
    if (!before && std::filesystem::exists(folder / part))
      throw UsageError(concat(place, ": there is a '", part, "' that no comparison has written; ",
                              "name another folder."));
  if (!before || before == scenario) return false;
  if (older == Older::refuse)
    throw UsageError(concat(place, ": it holds the comparison '", *before,
                            "'; name another folder, or give it up with --replace."));
  return true;
}

}  // namespace

ComparisonFolder::ComparisonFolder(std::filesystem::path path, const Scenario& scenario,
                                   const ComparisonPlan& plan, std::string program, Older older)
    : path_(std::move(path)), program_(std::move(program)) {
  const bool is_given_up = check_contents(path_, scenario.name, older);
  make_folder(path_);
  lock_ = locked(path_, scenario.name);
  for (const char* part : {"results.json", "report.html", "cases", "runs"})
    if (is_given_up) std::filesystem::remove_all(path_ / part);
  for (const char* part : {"cases", "runs"}) make_folder(path_ / part);
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    const ScenarioCase& one = scenario.cases[i];
    ConfigTable named = one.description;
    if (!find_entry(named, "name"))
      named.insert(named.begin(), ConfigEntry{"name", 0, {.line = 0, .value = one.name}});
    clusters_.push_back(to_toml(named));
    write(plan.case_files[i], clusters_.back());
  }
}

ComparisonFolder::~ComparisonFolder() { ::close(lock_); }

std::filesystem::path ComparisonFolder::run(const PlannedRun& run) const {
  return path_ / "runs" / run.id;
}

// All that decides what a run comes to.
std::string ComparisonFolder::note(const PlannedRun& run, Seconds seconds) const {
  const Json json = {{"command", run.arguments},
                     {"cluster", clusters_[run.case_index]},
                     {"program", program_},
                     {"seconds", seconds}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool ComparisonFolder::is_done(const PlannedRun& run) const {
  return has_outcome_of(run, Build::this_one);
}

bool ComparisonFolder::is_outdated(const PlannedRun& run) const {
  return !is_done(run) && has_outcome_of(run, Build::any);
}

bool ComparisonFolder::has_outcome_of(const PlannedRun& run, Build by) const {
  Json found = note_in(this->run(run));
  Json wanted = Json::parse(note(run, 0));
  if (!found.is_object()) return false;
  found["seconds"] = wanted["seconds"] = 0;
  if (by == Build::any) found["program"] = wanted["program"];
  const auto outcome = found == wanted ? read_outcome(this->run(run)) : std::nullopt;
  return outcome && outcome->is_complete();
}

// The note comes after everything older is gone: it must never vouch for another run's summary.
void ComparisonFolder::begin(const PlannedRun& run) const {
  std::filesystem::remove_all(this->run(run));
  std::filesystem::create_directories(this->run(run));
  write(concat("runs/", run.id, "/run.json"), note(run, 0));
}

void ComparisonFolder::end(const PlannedRun& run, Seconds seconds) const {
  write(concat("runs/", run.id, "/run.json"), note(run, seconds));
}

void ComparisonFolder::disown(const PlannedRun& run) const {
  std::filesystem::remove(this->run(run) / "run.json");
}

Seconds ComparisonFolder::seconds_of(const PlannedRun& run) const {
  const Json found = note_in(this->run(run));
  return found.is_object() && found.contains("seconds") && found["seconds"].is_number()
             ? found["seconds"].get<double>()
             : 0;
}

void ComparisonFolder::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = path_ / name;
  if (const std::error_code error = replace_file(file, {text}))
    throw Error(concat("cannot write '", file.string(), "': ", error.message(), "."));
}

std::string program_identity() {
  struct stat status {};
  if (::stat("/proc/self/exe", &status) != 0) return HUDDLE_VERSION;
  return concat(HUDDLE_VERSION, " of ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec, ", ",
                status.st_size, " bytes");
}

}  // namespace huddle
