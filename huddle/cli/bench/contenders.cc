#include "huddle/cli/bench/contenders.h"

#include <ATen/ops/zeros.h>

#include <cstring>
#include <memory>

#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/base/text.h"
#include "huddle/cli/bench/gloo_program.h"
#include "huddle/collective/broadcast.h"
#include "huddle/collective/gather.h"
#ifdef HUDDLE_WITH_MPI
#include "huddle/transport/mpi/mpi_reference.h"
#endif
#ifdef HUDDLE_WITH_UCX
#include "huddle/transport/ucx/ucx_reference.h"
#endif

namespace huddle {
namespace {

[[maybe_unused]] std::vector<int> numbers_of(const Group& group) {
  std::vector<int> numbers;
  for (const WorkerId member : group) numbers.push_back(member.value);
  return numbers;
}

// What each worker says, by worker. All call it.
std::vector<std::string> tell_all(Endpoint& endpoint, const std::string& own) {
  constexpr std::int64_t kLongest = 4096;
  check(std::ssize(own) < kLongest, "too long to be told");
  const Group everybody = Group::everyone(endpoint.workers());
  const auto tag = [](std::uint32_t sequence) {
    return Tag{.kind = Kind::control,
               .purpose = Purpose::broadcast,
               .lane = kMeasureLane,
               .sequence = {sequence}};
  };
  const at::Tensor mine = at::zeros({kLongest}, at::kByte);
  std::memcpy(mine.mutable_data_ptr(), own.data(), own.size());
  const at::Tensor all = at::zeros({kLongest * endpoint.workers()}, at::kByte);
  std::int64_t at = 0;
  for (const at::Tensor& each : gather(endpoint, everybody, WorkerId{0}, mine, tag(0), {}))
    all.narrow(0, kLongest * at++, kLongest).copy_(each);
  broadcast(endpoint, everybody, WorkerId{0}, all, tag(1), {});
  std::vector<std::string> texts;
  for (int worker = 0; worker < endpoint.workers(); ++worker)
    texts.emplace_back(static_cast<const char*>(all.const_data_ptr()) + kLongest * worker,
                       kLongest);
  return texts;
}

#ifdef HUDDLE_WITH_MPI
// What a user of MPI would call, where MPI can be called beside the engine.
void add_mpi(std::vector<Contender>& contenders) {
  const auto mpi = std::make_shared<MpiReference>();
  const auto contend = [mpi](auto sum) {
    return [mpi, sum](std::span<const Group> groups, const BenchValues& values) {
      float* const floats = values.tensor.mutable_data_ptr<float>();
      for (const Group& group : groups) {
        (*mpi.*sum)(numbers_of(group), floats, values.tensor.numel());
        const float share = 1 / static_cast<float>(group.size());
        for (std::int64_t i = 0; i < values.tensor.numel(); ++i) floats[i] *= share;
      }
    };
  };
  contenders.push_back({"MPI_Allreduce, communicator kept", contend(&MpiReference::sum_prebuilt)});
  contenders.push_back({"MPI_Allreduce, communicator made", contend(&MpiReference::sum_created)});
}
#endif

#ifdef HUDDLE_WITH_UCX
// As many bytes as the average needs, in the same number of messages, and no arithmetic.
void add_ucx(Endpoint& endpoint, std::vector<Contender>& contenders) {
  const auto ucx = std::make_shared<UcxReference>(
      endpoint.self().value,
      [&endpoint](const std::string& own) { return tell_all(endpoint, own); });
  contenders.push_back({.name = kBareExchange,
                        .average =
                            [ucx](std::span<const Group> groups, const BenchValues& values) {
                              for (const Group& group : groups)
                                ucx->pass_around(numbers_of(group),
                                                 values.tensor.mutable_data_ptr(),
                                                 values.tensor.nbytes());
                            },
                        .result = Contender::Result::nothing});
}
#endif

}  // namespace

MakeContenders contenders_of(const OtherLibraries& libraries,
                             [[maybe_unused]] std::vector<std::string>& left_out) {
  const std::string engine = parse_spec(libraries.engine).name;
  [[maybe_unused]] bool calls_mpi = false;
#ifdef HUDDLE_WITH_MPI
  if (engine == "mpi") {
    calls_mpi = begin_mpi_for_many_threads();
    if (!calls_mpi)
      left_out.push_back("MPI_Allreduce: this MPI cannot be called beside the engine");
  }
#endif
  return [=](Endpoint& endpoint) {
    std::vector<Contender> contenders;
#ifdef HUDDLE_WITH_MPI
    if (calls_mpi) add_mpi(contenders);
#endif
#ifdef HUDDLE_WITH_UCX
    if (engine == "ucx") add_ucx(endpoint, contenders);
#endif
    if (!libraries.gloo_python.empty()) {
      const std::string meeting =
          tell_all(endpoint, endpoint.self() == WorkerId{0} ? meeting_of_gloo() : "").front();
      const auto gloo = std::make_shared<GlooProgram>(GlooProgram::Place{
          libraries.gloo_python, meeting.c_str(), endpoint.self().value, endpoint.workers()});
      contenders.push_back({"all-reduce of Gloo in PyTorch",
                            [gloo](std::span<const Group> groups, const BenchValues& values) {
                              gloo->average(groups, values.path, values.tensor.numel());
                            }});
    }
    return contenders;
  };
}

}  // namespace huddle
