#include "tests/conformance/talk.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "huddle/base/text.h"

namespace huddle {

at::Tensor number(double value) {
  at::Tensor message = at::empty({1}, at::kDouble);
  *message.mutable_data_ptr<double>() = value;
  return message;
}

double value_of(const at::Tensor& message) { return *message.const_data_ptr<double>(); }

at::Tensor pattern(std::int64_t count, at::ScalarType type, int seed) {
  at::Tensor message = at::empty({count}, type);
  auto* bytes = static_cast<unsigned char*>(message.mutable_data_ptr());
  for (std::size_t i = 0; i < message.nbytes(); ++i)
    bytes[i] = static_cast<unsigned char>(i % 251 + 7 * static_cast<std::size_t>(seed));
  return message;
}

bool same_bytes(const at::Tensor& one, const at::Tensor& other) {
  return one.nbytes() == other.nbytes() &&
         (one.nbytes() == 0 ||
          std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0);
}

void tell(Endpoint& endpoint, WorkerId to, Tag tag, double value) {
  endpoint.send(to, tag, number(value));
}

double hear(Endpoint& endpoint, WorkerId from, Tag tag) {
  const at::Tensor message = number(-1);
  endpoint.receive(from, tag, message).wait(kDeadline);
  return value_of(message);
}

double hear_anybody(Endpoint& endpoint, Tag tag) {
  const at::Tensor message = number(-1);
  endpoint.receive_any(tag, message).wait(kDeadline);
  return value_of(message);
}

void meet(Endpoint& endpoint) {
  constexpr Tag kMeeting{Kind::control, Purpose::barrier, kMainLane, {4711}};
  for (const WorkerId peer : peers_of(endpoint)) tell(endpoint, peer, kMeeting);
  for (const WorkerId peer : peers_of(endpoint)) hear(endpoint, peer, kMeeting);
}

std::vector<WorkerId> peers_of(const Endpoint& endpoint) {
  std::vector<WorkerId> peers;
  for (int worker = 0; worker < endpoint.workers(); ++worker)
    if (worker != endpoint.self().value) peers.push_back({worker});
  return peers;
}

void wait_all(std::vector<Pending>& pendings) {
  for (Pending& pending : pendings) pending.wait(kDeadline);
}

bool becomes_ready(Endpoint& endpoint, Pending& pending) {
  const Time give_up = endpoint.now() + kDeadline.after;
  while (!pending.ready() && endpoint.now() < give_up) endpoint.compute(Step{0}, 0.0005);
  return pending.ready();
}

void expect_mentions(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos)
        << "\"" << word << "\" is not in \"" << text << "\"";
}

std::string named(WorkerId worker) { return concat("worker ", worker.value); }

void expect_only_loss(const std::vector<Loss>& losses, WorkerId worker) {
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses.front().worker, worker);
  expect_mentions(losses.front().reason, {named(worker)});
}

}  // namespace huddle
