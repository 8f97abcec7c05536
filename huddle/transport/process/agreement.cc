#include "huddle/transport/process/agreement.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr WorkerId kFirst{0};

// Longer terms than any run has: a size from the wire is looked at before memory is taken for it.
constexpr std::int64_t kLongestText = 1 << 20;

Tag tag_of(std::uint32_t sequence) {
  return {Kind::control, Purpose::gather, kMeasureLane, {sequence}};
}

void send_text(Endpoint& endpoint, WorkerId to, const std::string& text, Deadline deadline) {
  const at::Tensor size = at::empty({1}, at::kLong);
  *size.mutable_data_ptr<std::int64_t>() = std::ssize(text);
  const at::Tensor data = at::empty({std::ssize(text)}, at::kByte);
  std::memcpy(data.mutable_data_ptr(), text.data(), text.size());
  Pending first = endpoint.send(to, tag_of(0), size);
  Pending second = endpoint.send(to, tag_of(1), data);
  first.wait(deadline);
  second.wait(deadline);
}

std::string receive_text(Endpoint& endpoint, WorkerId from, Deadline deadline) {
  const at::Tensor size = at::empty({1}, at::kLong);
  endpoint.receive(from, tag_of(0), size).wait(deadline);
  const std::int64_t length = *size.const_data_ptr<std::int64_t>();
  check(length >= 0 && length <= kLongestText, "a text of impossible length has come");
  const at::Tensor data = at::empty({length}, at::kByte);
  endpoint.receive(from, tag_of(1), data).wait(deadline);
  return {static_cast<const char*>(data.const_data_ptr()), static_cast<std::size_t>(length)};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The lines of `theirs` that `ours` has not.
std::vector<std::string> beyond(const std::string& ours, const std::string& theirs) {
  const std::vector<std::string> known = lines_of(ours);
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(theirs))
    if (!is_among(known, line)) lines.push_back(line);
  return lines;
}

std::string difference(const std::string& ours, WorkerId who, const std::string& theirs) {
  return concat("the workers of this run disagree: worker 0 has ",
                joined(beyond(theirs, ours), "; "), ", worker ", who.value, " has ",
                joined(beyond(ours, theirs), "; "),
                ". Start all processes with the same command and the same Huddle.");
}

}  // namespace

void agree(Endpoint& endpoint, const std::string& terms, Deadline deadline) {
  if (endpoint.self() != kFirst) {
    send_text(endpoint, kFirst, terms, deadline);
    const std::string verdict = receive_text(endpoint, kFirst, deadline);
    if (!verdict.empty()) throw UsageError(verdict);
    return;
  }
  std::string verdict;
  for (int worker = 1; worker < endpoint.workers(); ++worker) {
    const std::string theirs = receive_text(endpoint, {worker}, deadline);
    if (verdict.empty() && theirs != terms) verdict = difference(terms, {worker}, theirs);
  }
  for (int worker = 1; worker < endpoint.workers(); ++worker)
    send_text(endpoint, {worker}, verdict, deadline);
  if (!verdict.empty()) throw UsageError(verdict);
}

// The answer that came soonest is the least uncertain: half of its way is the most it can be wrong.
Seconds clock_lead(Endpoint& endpoint, Deadline deadline) {
  constexpr int kTries = 8;
  const at::Tensor time = at::empty({1}, at::kDouble);
  double* const value = time.mutable_data_ptr<double>();
  if (endpoint.self() == kFirst) {
    for (int worker = 1; worker < endpoint.workers(); ++worker)
      for (int i = 0; i < kTries; ++i) {
        endpoint.receive({worker}, tag_of(2), time).wait(deadline);
        *value = endpoint.now();
        endpoint.send({worker}, tag_of(3), time).wait(deadline);
      }
    return 0;
  }
  Seconds shortest = std::numeric_limits<Seconds>::infinity();
  Seconds lead = 0;
  for (int i = 0; i < kTries; ++i) {
    const Time asked = endpoint.now();
    endpoint.send(kFirst, tag_of(2), time).wait(deadline);
    endpoint.receive(kFirst, tag_of(3), time).wait(deadline);
    const Time answered = endpoint.now();
    if (answered - asked >= shortest) continue;
    shortest = answered - asked;
    lead = *value - (asked + answered) / 2;
  }
  return lead;
}

}  // namespace huddle
