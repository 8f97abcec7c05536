#include "huddle/cli/bench/collectives.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "huddle/base/error.h"
#include "huddle/base/text.h"
#include "huddle/collective/average.h"
#include "huddle/collective/barrier.h"
#include "huddle/collective/gather.h"
#include "huddle/schedule/schedule.h"

namespace huddle {
namespace {

// One worker's measurements; all workers make the same in the same order.
class Measuring {
 public:
  Measuring(Endpoint& endpoint, const CollectivesPlan& plan, const MakeContenders& others)
      : endpoint_(endpoint), plan_(plan), averager_({.deadline = plan.deadline}) {
    contenders_.push_back({kHuddle, [this](const Group& group, const at::Tensor& tensor) {
                             averager_.average(endpoint_, group, tensor, {sequence_++});
                           }});
    contenders_.push_back({kCopy, [this](const Group&, const at::Tensor& tensor) {
                             if (!copy_.defined() || copy_.nbytes() != tensor.nbytes())
                               copy_ = at::empty_like(tensor);
                             std::memcpy(copy_.mutable_data_ptr(), tensor.const_data_ptr(),
                                         tensor.nbytes());
                           }});
    for (Contender& other : others()) contenders_.push_back(std::move(other));
  }

  std::vector<CollectiveTime> run_case(int size, std::int64_t bytes) {
    const auto elements = std::max<std::int64_t>(1, bytes / 4);
    tensor_ = at::empty({elements}, at::kFloat);
    const Schedule groups = make_schedule(
        {.kind = ScheduleOptions::Kind::random, .group = size, .seed = 1}, endpoint_.workers());
    for (const Contender& contender : contenders_) verify(contender, groups);
    const std::vector<int> rounds = rounds_of(groups);
    std::vector<std::vector<Seconds>> samples(contenders_.size());
    for (int sample = 0; sample < plan_.samples; ++sample)
      for (std::size_t i = 0; i < contenders_.size(); ++i)
        samples[i].push_back(time(contenders_[i], groups, rounds[i]));
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
  // Every worker brings its number plus one, so the mean tells who took part.
  void verify(const Contender& contender, const Schedule& groups) {
    if (contender.name == kCopy) return;
    for (int i = 0; i < 2; ++i) {
      const Group group = groups.group_of(endpoint_.self(), Step{step_++});
      tensor_.fill_(endpoint_.self().value + 1);
      contender.average(group, tensor_);
      double sum = 0;
      for (const WorkerId member : group) sum += member.value + 1;
      const float expected = static_cast<float>(sum / group.size());
      const bool is_right = at::full_like(tensor_, expected).allclose(tensor_, 1e-6, 0);
      check(is_right, "an average is wrong");
    }
  }

  // How many averages fill a sample, for each contender, as worker 0 finds.
  std::vector<int> rounds_of(const Schedule& groups) {
    std::vector<int> rounds;
    for (const Contender& contender : contenders_) {
      const Seconds once = time(contender, groups, 3);
      rounds.push_back(static_cast<int>(std::clamp(plan_.seconds / once, 1.0, 2000.0)));
    }
    return rounds;
  }

  // The time of one average, of so many in a row, as the slowest worker has it: told to all.
  Seconds time(const Contender& contender, const Schedule& groups, int rounds) {
    barrier(endpoint_, everybody(), tag(), plan_.deadline);
    const Time begin = endpoint_.now();
    for (int i = 0; i < rounds; ++i)
      contender.average(groups.group_of(endpoint_.self(), Step{step_++}), tensor_);
    return slowest((endpoint_.now() - begin) / rounds);
  }

  Seconds slowest(Seconds own) {
    at::Tensor mine = at::full({1}, own, at::kDouble);
    double most = own;
    for (const at::Tensor& each :
         gather(endpoint_, everybody(), WorkerId{0}, mine, tag(), plan_.deadline))
      most = std::max(most, *each.const_data_ptr<double>());
    *mine.mutable_data_ptr<double>() = most;
    const Tag answer = tag();
    if (endpoint_.self() == WorkerId{0}) {
      std::vector<Pending> sends;
      for (int worker = 1; worker < endpoint_.workers(); ++worker)
        sends.push_back(endpoint_.send({worker}, answer, mine));
      for (Pending& send : sends) send.wait(plan_.deadline);
    } else {
      endpoint_.receive({0}, answer, mine).wait(plan_.deadline);
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
  const CollectivesPlan& plan_;
  Averager averager_;
  std::vector<Contender> contenders_;
  at::Tensor tensor_;
  at::Tensor copy_;
  std::uint32_t sequence_ = 0;
  std::uint32_t tags_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace

std::vector<CollectiveTime> measure_collectives(Launcher& launcher, const CollectivesPlan& plan,
                                                const MakeContenders& others,
                                                const std::function<void(int of_cases)>& done) {
  std::vector<CollectiveTime> all;
  launcher.run([&](Endpoint& endpoint) {
    Measuring measuring(endpoint, plan, others);
    const auto cases = static_cast<int>(plan.groups.size() * plan.bytes.size());
    for (const int group : plan.groups)
      for (const std::int64_t bytes : plan.bytes) {
        const std::vector<CollectiveTime> times = measuring.run_case(group, bytes);
        if (endpoint.self() != WorkerId{0}) continue;
        all.insert(all.end(), times.begin(), times.end());
        done(cases);
      }
  });
  return all;
}

}  // namespace huddle
