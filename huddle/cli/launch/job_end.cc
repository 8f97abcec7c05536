#include "huddle/cli/launch/job_end.h"

#include <algorithm>
#include <cstring>

#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kInterrupted = 130;
constexpr int kSshFailed = 255;

bool is_finished(const JobEnd& job) {
  return std::ranges::any_of(
      job.ends, [](const ProcessEnd& end) { return end.worker == 0 && end.is_good(); });
}

std::string described(const ProcessEnd& end) {
  if (end.signal != 0)
    return concat("was killed by signal ", end.signal, " (", strsignal(end.signal), ")");
  return concat("ended with exit status ", end.exit_status,
                end.exit_status == kSshFailed ? ", which is what ssh says when it fails" : "");
}

// Programs give the reason themselves where they end with 1 or 2.
bool has_told(const ProcessEnd& end) {
  return end.signal == 0 && (end.exit_status == 1 || end.exit_status == 2);
}

}  // namespace

int exit_status_of(const JobEnd& job) {
  if (is_finished(job)) return 0;
  if (job.is_interrupted || std::ranges::any_of(job.ends, [](const ProcessEnd& end) {
        return end.worker == 0 && !end.was_asked && end.exit_status == kInterrupted;
      }))
    return kInterrupted;
  return std::ranges::any_of(job.ends, &ProcessEnd::is_refused) ? 2 : 1;
}

std::vector<std::string> closing_words(const JobEnd& job) {
  const bool is_whole = is_finished(job);
  std::vector<std::string> words;
  std::vector<int> asked;
  for (const ProcessEnd& end : job.ends) {
    const std::string name = concat("worker ", end.worker);
    if (end.was_asked)
      asked.push_back(end.worker);
    else if (is_whole && !end.is_good())
      words.push_back(concat(name, " ", described(end), "; the run finished without it."));
    else if (!end.is_good() && !has_told(end) && !job.is_interrupted)
      words.push_back(concat(name, " ", described(end), "."));
  }
  std::ranges::sort(asked);
  std::vector<std::string> names;
  for (const int worker : asked) names.push_back(std::to_string(worker));
  if (!asked.empty())
    words.push_back(concat(asked.size() == 1 ? "worker " : "workers ", joined(names),
                           " did not end with the run and ", asked.size() == 1 ? "was" : "were",
                           " stopped."));
  return words;
}

}  // namespace huddle
