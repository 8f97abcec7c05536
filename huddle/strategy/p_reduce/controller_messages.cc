#include "huddle/strategy/p_reduce/controller_messages.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <span>
#include <vector>

#include "huddle/base/error.h"

namespace huddle {
namespace {

constexpr std::int64_t kRequestFields = 7;
constexpr std::int64_t kAnswerFields = 5;  // Before members and weights.

at::Tensor empty(std::int64_t fields) { return at::empty({fields}, at::kDouble); }

at::Tensor filled(const std::vector<double>& fields) {
  const at::Tensor message = empty(static_cast<std::int64_t>(fields.size()));
  std::copy(fields.begin(), fields.end(), message.mutable_data_ptr<double>());
  return message;
}

std::span<const double> fields_of(const at::Tensor& message) {
  return {message.const_data_ptr<double>(), static_cast<std::size_t>(message.numel())};
}

}  // namespace

Tag request_tag() { return {Kind::control, Purpose::request, kControllerLane, {}}; }

Tag answer_tag(std::int64_t number) {
  return {Kind::control, Purpose::message, kControllerLane,
          Sequence{static_cast<std::uint32_t>(number)}};
}

at::Tensor empty_request() { return empty(kRequestFields); }

at::Tensor empty_answer(int largest_group) { return empty(kAnswerFields + 2 * largest_group); }

at::Tensor to_message(const Request& request) {
  return filled({static_cast<double>(request.kind), static_cast<double>(request.who.worker.value),
                 static_cast<double>(request.who.number), static_cast<double>(request.number),
                 static_cast<double>(request.iteration), static_cast<double>(request.group.value),
                 static_cast<double>(request.lost.value)});
}

Request to_request(const at::Tensor& message) {
  const std::span<const double> fields = fields_of(message);
  return {.kind = static_cast<Request::Kind>(static_cast<int>(fields[0])),
          .who = {WorkerId{static_cast<int>(fields[1])}, static_cast<int>(fields[2])},
          .number = static_cast<std::int64_t>(fields[3]),
          .iteration = static_cast<std::int64_t>(fields[4]),
          .group = {static_cast<std::int64_t>(fields[5])},
          .lost = {static_cast<int>(fields[6])}};
}

at::Tensor to_message(const Assignment& given, int largest_group) {
  check(given.group.size() <= largest_group, "a group is larger than its message");
  std::vector<double> fields{static_cast<double>(given.id.value),
                             static_cast<double>(given.iteration), given.progress,
                             given.last ? 1.0 : 0.0, static_cast<double>(given.group.size())};
  for (const WorkerId member : given.group) fields.push_back(member.value);
  fields.insert(fields.end(), given.weights.begin(), given.weights.end());
  fields.resize(static_cast<std::size_t>(kAnswerFields + 2 * largest_group));
  return filled(fields);
}

Assignment to_assignment(const at::Tensor& message) {
  const std::span<const double> fields = fields_of(message);
  const auto members = static_cast<std::size_t>(fields[4]);
  const std::span<const double> ids = fields.subspan(kAnswerFields, members);
  const std::span<const double> weights = fields.subspan(kAnswerFields + members, members);
  std::vector<WorkerId> workers;
  for (const double id : ids) workers.push_back(WorkerId{static_cast<int>(id)});
  return {.id = {static_cast<std::int64_t>(fields[0])},
          .group = Group(workers),
          .weights = {weights.begin(), weights.end()},
          .iteration = static_cast<std::int64_t>(fields[1]),
          .progress = fields[2],
          .last = fields[3] != 0};
}

}  // namespace huddle
