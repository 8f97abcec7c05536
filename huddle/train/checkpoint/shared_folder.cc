#include "huddle/train/checkpoint/shared_folder.h"

#include <ATen/ops/full.h>

#include <cmath>
#include <fstream>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/replace_file.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/broadcast.h"
#include "huddle/collective/gather.h"

namespace huddle {
namespace {

Tag numbered_tag(std::uint32_t sequence) {
  return {.kind = Kind::control, .lane = kMeasureLane, .sequence = {sequence}};
}

bool reads(const std::filesystem::path& file, const std::string& word) {
  std::ifstream stream(file);
  std::string found;
  stream >> found;
  return found == word;
}

}  // namespace

void require_shared(Launcher& launcher, const std::filesystem::path& folder,
                    const std::string& option) {
  const std::filesystem::path mark = folder / ".shared";
  launcher.run([&](Endpoint& endpoint) {
    const Group all = Group::everyone(endpoint.workers());
    const Deadline deadline;
    const bool is_first = endpoint.self() == WorkerId{0};
    // A word that an earlier run cannot have left there.
    const at::Tensor time = at::full({1}, steady_seconds(), at::kDouble);
    broadcast(endpoint, all, WorkerId{0}, time, numbered_tag(0), deadline);
    const std::string word = concat(std::llround(*time.const_data_ptr<double>() * 1e9));
    if (is_first) replace_file(mark, {word});
    barrier(endpoint, all, numbered_tag(1), deadline);
    const at::Tensor sees_it = at::full({1}, reads(mark, word), at::kByte);
    std::vector<std::string> blind;
    int worker = 0;
    for (const at::Tensor& one :
         gather(endpoint, all, WorkerId{0}, sees_it, numbered_tag(2), deadline)) {
      if (*one.const_data_ptr<std::uint8_t>() == 0) blind.push_back(concat("worker ", worker));
      ++worker;
    }
    if (!is_first) return;
    std::filesystem::remove(mark);
    if (!blind.empty())
      throw UsageError(concat(option, " ", folder.string(),
                              " is not the same folder for all: ", joined(blind),
                              " cannot see what worker 0 writes there. Name one on a file system "
                              "that all machines share."));
  });
}

}  // namespace huddle
