#include "huddle/cli/bench/collectives.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/cli/bench/open_memory.h"
#include "huddle/collective/average.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/gather.h"
#include "huddle/schedule/schedule.h"

namespace huddle {
namespace {

// Groups change at every step, in a cycle of so many: libraries that must make something of each
// group have made it before it is timed.
constexpr int kPhases = 12;

// One worker's measurements; all workers make the same in the same order.
class Measuring {
 public:
  Measuring(Endpoint& endpoint, const CollectivesSetting& setting, const MakeContenders& others)
      : endpoint_(endpoint), setting_(setting), averager_({.deadline = setting.deadline}) {
    contenders_.push_back(
        {kHuddle, [this](std::span<const Group> groups, const BenchValues& values) {
           for (const Group& group : groups)
             averager_.average(endpoint_, group, values.tensor, {sequence_++});
         }});
    contenders_.push_back({.name = kCopy,
                           .average =
                               [this](std::span<const Group> groups, const BenchValues& values) {
                                 if (!copy_.defined() || copy_.nbytes() != values.tensor.nbytes())
                                   copy_ = at::empty_like(values.tensor);
                                 for (std::size_t i = 0; i < groups.size(); ++i)
                                   std::memcpy(copy_.mutable_data_ptr(),
                                               values.tensor.const_data_ptr(),
                                               values.tensor.nbytes());
                               },
                           .result = Contender::Result::nothing});
    for (Contender& other : others(endpoint)) contenders_.push_back(std::move(other));
  }

  std::vector<CollectiveTime> run_case(int size, std::int64_t bytes) {
    const Schedule groups = make_schedule(
        {.kind = ScheduleOptions::Kind::random, .group = size, .seed = 1}, endpoint_.workers());
    if (size != size_) warm_up(groups);
    size_ = size;
    use_memory(bytes);
    for (const Contender& contender : contenders_) verify(contender, groups);
    const std::vector<int> repetitions = repetitions_of(groups);
    std::vector<std::vector<Seconds>> samples(contenders_.size());
    for (int sample = 0; sample < setting_.samples; ++sample)
      for (std::size_t i = 0; i < contenders_.size(); ++i)
        samples[i].push_back(time(contenders_[i], groups, repetitions[i]));
    std::vector<CollectiveTime> times;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      std::sort(samples[i].begin(), samples[i].end());
      const auto at = [&](double share) {
        return samples[i][static_cast<std::size_t>(
            share * static_cast<double>(samples[i].size() - 1) + 0.5)];
      };
      times.push_back({size, bytes, contenders_[i].name, at(0.5), at(0.1), at(0.9)});
    }
    return times;
  }

 private:
  void use_memory(std::int64_t bytes) {
    const auto elements = std::max<std::int64_t>(1, bytes / 4);
    tensor_.reset();
    memory_ = std::make_unique<OpenMemory>(4 * elements);
    tensor_ = at::from_blob(memory_->place(), {elements}, at::kFloat);
    tensor_.zero_();
  }
  BenchValues values() const { return {tensor_, memory_->path()}; }

  std::vector<Group> next_groups(const Schedule& schedule, int count) {
    std::vector<Group> groups;
    for (int i = 0; i < count; ++i)
      groups.push_back(schedule.group_of(endpoint_.self(), Step{step_++ % kPhases}));
    return groups;
  }

  void warm_up(const Schedule& schedule) {
    use_memory(4);
    for (const Contender& contender : contenders_)
      contender.average(next_groups(schedule, kPhases), values());
  }

  // Every worker brings its number plus one, so the mean tells who took part.
  void verify(const Contender& contender, const Schedule& schedule) {
    if (contender.result == Contender::Result::nothing) return;
    for (int i = 0; i < 2; ++i) {
      const std::vector<Group> groups = next_groups(schedule, 1);
      tensor_.fill_(endpoint_.self().value + 1);
      contender.average(groups, values());
      double sum = 0;
      for (const WorkerId member : groups.front()) sum += member.value + 1;
      const float expected = static_cast<float>(sum / groups.front().size());
      const bool is_right = at::full_like(tensor_, expected).allclose(tensor_, 1e-6, 0);
      if (!is_right) throw LogicError(concat("an average of ", contender.name, " is wrong"));
    }
  }

  // How many averages fill a sample, for each contender, as the slowest worker finds.
  std::vector<int> repetitions_of(const Schedule& schedule) {
    std::vector<int> repetitions;
    for (const Contender& contender : contenders_) {
      const Seconds once = time(contender, schedule, 3);
      repetitions.push_back(static_cast<int>(std::clamp(setting_.seconds / once, 1.0, 2000.0)));
    }
    return repetitions;
  }

  // The time of one average, of so many in a row, as the slowest worker has it: told to all.
  Seconds time(const Contender& contender, const Schedule& schedule, int repetitions) {
    const std::vector<Group> groups = next_groups(schedule, repetitions);
    barrier(endpoint_, everybody(), tag(), setting_.deadline);
    const Time begin = endpoint_.now();
    contender.average(groups, values());
    return slowest((endpoint_.now() - begin) / repetitions);
  }

  Seconds slowest(Seconds own) {
    at::Tensor mine = at::full({1}, own, at::kDouble);
    double most = own;
    for (const at::Tensor& each :
         gather(endpoint_, everybody(), WorkerId{0}, mine, tag(), setting_.deadline))
      most = std::max(most, *each.const_data_ptr<double>());
    *mine.mutable_data_ptr<double>() = most;
    const Tag answer = tag();
    if (endpoint_.self() == WorkerId{0}) {
      std::vector<Pending> sends;
      for (int worker = 1; worker < endpoint_.workers(); ++worker)
        sends.push_back(endpoint_.send({worker}, answer, mine));
      for (Pending& send : sends) send.wait(setting_.deadline);
    } else {
      endpoint_.receive({0}, answer, mine).wait(setting_.deadline);
    }
    return *mine.const_data_ptr<double>();
  }

  Group everybody() const { return Group::everyone(endpoint_.workers()); }
  Tag tag() {
    return {.kind = Kind::control,
            .purpose = Purpose::gather,
            .lane = kMeasureLane,
            .sequence = {tags_++}};
  }

  Endpoint& endpoint_;
  const CollectivesSetting& setting_;
  Averager averager_;
  std::vector<Contender> contenders_;
  std::unique_ptr<OpenMemory> memory_;
  at::Tensor tensor_;  // In that memory.
  at::Tensor copy_;
  int size_ = 0;  // Of the groups so far.
  std::uint32_t sequence_ = 0;
  std::uint32_t tags_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace

std::vector<CollectiveTime> measure_collectives(Launcher& launcher,
                                                const CollectivesSetting& setting,
                                                const MakeContenders& others,
                                                const std::function<void(int of_cases)>& done) {
  std::vector<CollectiveTime> all;
  launcher.run([&](Endpoint& endpoint) {
    Measuring measuring(endpoint, setting, others);
    const auto cases = static_cast<int>(setting.groups.size() * setting.bytes.size());
    for (const int group : setting.groups)
      for (const std::int64_t bytes : setting.bytes) {
        const std::vector<CollectiveTime> times = measuring.run_case(group, bytes);
        if (endpoint.self() != WorkerId{0}) continue;
        all.insert(all.end(), times.begin(), times.end());
        done(cases);
      }
  });
  return all;
}

std::vector<std::span<const CollectiveTime>> by_case(std::span<const CollectiveTime> times) {
  std::vector<std::span<const CollectiveTime>> cases;
  for (std::size_t begin = 0; begin < times.size(); begin += cases.back().size()) {
    std::size_t end = begin;
    while (end < times.size() && times[end].group == times[begin].group &&
           times[end].bytes == times[begin].bytes)
      ++end;
    cases.push_back(times.subspan(begin, end - begin));
  }
  return cases;
}

Seconds median_of(std::span<const CollectiveTime> one_case, std::string_view contender) {
  const auto found = std::ranges::find(one_case, contender, &CollectiveTime::contender);
  check(found != one_case.end(), "nobody of this name was measured");
  return found->median;
}

}  // namespace huddle
