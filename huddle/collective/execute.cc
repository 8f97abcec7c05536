#include "huddle/collective/execute.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "huddle/collective/arithmetic.h"
#include "huddle/core/error.h"

namespace huddle {
namespace {

// How much may be under way with one peer in one direction: enough that one message travels while
// another is added, and that small ones do not wait for each other's latency.
constexpr int kWindowMessages = 4;
constexpr std::int64_t kWindowElements = 4 << 20;

// Messages are not cut smaller than this for the sake of overlap: each costs something by itself.
constexpr std::int64_t kSmallestPiece = 16 << 10;

using Verb = Action::Verb;

// Tells which earlier messages on the same elements must have ended before a later one may: one
// that sends waits for the last that wrote them, one that writes for all that have read them since.
// Sends of one and the same stretch go together; one of more or less than an earlier one belongs to
// a later step of the algorithm (doubling), and would take bandwidth from what everybody waits for.
class Dependencies {
 public:
  Dependencies(const std::vector<Message>& messages, std::int64_t elements) : messages_(messages) {
    std::set<std::int64_t> cuts{0, elements};
    for (const Message& message : messages) {
      cuts.insert(message.begin);
      cuts.insert(message.end);
    }
    for (const std::int64_t cut : cuts) stretches_[cut];
  }

  // Those that `message`, number `index`, waits for.
  std::set<int> note(const Message& message, int index) {
    std::set<int> earlier;
    for (auto entry = stretches_.find(message.begin); entry->first < message.end; ++entry) {
      Touched& touched = entry->second;
      const bool writes = message.verb != Verb::send;
      for (const int reader : touched.readers)
        if (writes || !is_same_stretch(messages_[static_cast<std::size_t>(reader)], message))
          earlier.insert(reader);
      // Readers have waited for the writer themselves.
      if (touched.writer >= 0 && (!writes || touched.readers.empty()))
        earlier.insert(touched.writer);
      if (writes)
        touched = {index, {}};
      else
        touched.readers.push_back(index);
    }
    return earlier;
  }

 private:
  static bool is_same_stretch(const Message& one, const Message& other) {
    return one.begin == other.begin && one.end == other.end;
  }

  struct Touched {
    int writer = -1;           // The last one; -1: nobody yet.
    std::vector<int> readers;  // Since then.
  };
  const std::vector<Message>& messages_;
  std::map<std::int64_t, Touched> stretches_;  // By first element, from one cut to the next.
};

void link(std::vector<Message>& messages, int earlier, int later) {
  messages[static_cast<std::size_t>(earlier)].wakes.push_back(later);
  ++messages[static_cast<std::size_t>(later)].waits_for;
}

// Every message of a phase waits for all messages of the phase before it.
void separate_phases(std::vector<Message>& messages, const std::vector<int>& phase_of) {
  std::map<int, std::vector<int>> by_phase;
  for (std::size_t i = 0; i < messages.size(); ++i)
    by_phase[phase_of[i]].push_back(static_cast<int>(i));
  for (auto later = by_phase.begin(); later != by_phase.end(); ++later) {
    if (later == by_phase.begin()) continue;
    for (const int earlier : std::prev(later)->second)
      for (const int message : later->second) link(messages, earlier, message);
  }
}

class Execution {
 public:
  Execution(Endpoint& endpoint, const Group& group, Tag tag, const Program& program,
            const at::Tensor& values, Scratch& scratch)
      : endpoint_(endpoint),
        group_(group),
        tag_(tag),
        program_(program),
        values_(values),
        scratch_(scratch) {
    states_.resize(program.messages.size());
    for (std::size_t i = 0; i < program.messages.size(); ++i) {
      const Message& message = program.messages[i];
      states_[i].waits_for = message.waits_for;
      queues_[{message.verb == Verb::send, message.peer}].messages.push_back(static_cast<int>(i));
    }
    for (std::size_t buffer = 0; buffer < scratch.size(); ++buffer)
      free_scratch_.push_back(static_cast<int>(buffer));
  }

  Exchange run(Deadline deadline) {
    exchange_.begin = endpoint_.now();
    exchange_.first_bytes = -1;
    Pending losses = endpoint_.watch(group_);
    for (std::size_t left = states_.size(); left > 0; left -= std::exchange(ended_, 0)) {
      for (auto& [key, queue] : queues_) start_next(queue);
      if (ended_ > 0) continue;
      check(!under_way_.empty(), "a plan cannot go on: its messages wait for one another");
      std::vector<Pending*> pendings{
          &losses};  // First: the death of a member explains whatever else has failed.
      for (UnderWay& each : under_way_) pendings.push_back(&each.pending);
      const std::size_t index = wait_any(pendings, deadline);
      if (index == 0) losses.wait(deadline);  // Throws.
      UnderWay arrived = std::move(under_way_[index - 1]);
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index - 1));
      const Time first_bytes = arrived.pending.first_bytes();
      arrived.pending.wait(deadline);
      --arrived.queue->under_way;
      arrived.queue->elements_under_way -=
          size_of(program_.messages[static_cast<std::size_t>(arrived.message)]);
      arrive(arrived.message, first_bytes);
    }
    exchange_.end = endpoint_.now();
    if (exchange_.first_bytes < 0) exchange_.first_bytes = exchange_.end;
    return exchange_;
  }

  void give_up() {
    for (UnderWay& each : under_way_) each.pending.cancel();
  }

 private:
  // All messages with one peer in one direction; they start in order, so that both ends agree on
  // which is which.
  struct Queue {
    std::vector<int> messages;
    std::size_t next = 0;
    int under_way = 0;
    std::int64_t elements_under_way = 0;
  };

  struct State {
    int waits_for = 0;
    bool arrived = false;
    int scratch = -1;
  };

  struct UnderWay {
    int message;
    Queue* queue;
    Pending pending;
  };

  void start_next(Queue& queue) {
    while (queue.next < queue.messages.size()) {
      const int index = queue.messages[queue.next];
      const Message& message = program_.messages[static_cast<std::size_t>(index)];
      if (queue.under_way >= kWindowMessages &&
          queue.elements_under_way + size_of(message) > kWindowElements)
        return;
      State& state = states_[static_cast<std::size_t>(index)];
      // What is only to be added may arrive early; what is sent or overwritten must be left alone
      // by everybody else.
      if (message.verb != Verb::add && state.waits_for > 0) return;
      under_way_.push_back({index, &queue, start(message, state)});
      ++queue.next;
      ++queue.under_way;
      queue.elements_under_way += size_of(message);
    }
  }

  static std::int64_t size_of(const Message& message) { return message.end - message.begin; }

  Pending start(const Message& message, State& state) {
    const WorkerId peer = group_[message.peer];
    if (message.verb == Verb::send) {
      ++exchange_.messages_sent;
      exchange_.bytes_sent += (message.end - message.begin) * values_.element_size();
      return endpoint_.send(peer, tag_, stretch_of(message));
    }
    if (message.verb == Verb::copy) return endpoint_.receive(peer, tag_, stretch_of(message));
    if (free_scratch_.empty()) {
      free_scratch_.push_back(static_cast<int>(scratch_.size()));
      scratch_.emplace_back();
    }
    state.scratch = free_scratch_.back();
    free_scratch_.pop_back();
    at::Tensor& buffer = scratch_[static_cast<std::size_t>(state.scratch)];
    if (!buffer.defined() || buffer.numel() < program_.largest_message)
      buffer = at::empty({program_.largest_message}, values_.options());
    return endpoint_.receive(peer, tag_, scratch_of(message, state));
  }

  void arrive(int index, Time first_bytes) {
    State& state = states_[static_cast<std::size_t>(index)];
    if (exchange_.first_bytes < 0 &&
        program_.messages[static_cast<std::size_t>(index)].verb != Verb::send)
      exchange_.first_bytes = std::max(exchange_.begin, first_bytes);
    state.arrived = true;
    if (state.waits_for == 0) end(index);
  }

  // The message has arrived and nothing that came before it is in the way.
  void end(int index) {
    std::vector<int> ready{index};
    while (!ready.empty()) {
      const int current = ready.back();
      ready.pop_back();
      const Message& message = program_.messages[static_cast<std::size_t>(current)];
      State& state = states_[static_cast<std::size_t>(current)];
      if (message.verb == Verb::add) {
        add(stretch_of(message), scratch_of(message, state));
        free_scratch_.push_back(state.scratch);
      }
      ++ended_;
      for (const int later : message.wakes) {
        State& woken = states_[static_cast<std::size_t>(later)];
        if (--woken.waits_for == 0 && woken.arrived) ready.push_back(later);
      }
    }
  }

  // Elements begin..end-1; the tensor itself where that is all of it, which costs nothing.
  static at::Tensor part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
    return begin == 0 && end == tensor.numel() ? tensor : tensor.narrow(0, begin, end - begin);
  }
  at::Tensor stretch_of(const Message& message) const {
    return part(values_, message.begin, message.end);
  }
  at::Tensor scratch_of(const Message& message, const State& state) const {
    return part(scratch_[static_cast<std::size_t>(state.scratch)], 0, message.end - message.begin);
  }

  Endpoint& endpoint_;
  const Group& group_;
  const Tag tag_;
  const Program& program_;
  const at::Tensor& values_;
  Scratch& scratch_;
  std::vector<int> free_scratch_;
  std::vector<State> states_;
  std::map<std::pair<bool, int>, Queue> queues_;  // By (sends, peer).
  std::vector<UnderWay> under_way_;
  std::size_t ended_ = 0;  // Since the main loop last looked.
  Exchange exchange_;
};

}  // namespace

Program compile(const Plan& plan, std::int64_t elements, std::int64_t message_elements,
                Overlap overlap, double payload_scale) {
  Program program;
  std::vector<int> phase_of;
  for (const Action& action : plan.actions) {
    const std::int64_t begin = elements * action.first / plan.segments;
    const std::int64_t size = elements * action.last / plan.segments - begin;
    const auto counts_for = static_cast<std::int64_t>(static_cast<double>(size) * payload_scale);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(counts_for / kSmallestPiece, 1, plan.pieces);
    const std::int64_t pieces =
        std::max<std::int64_t>(wanted, (size + message_elements - 1) / message_elements);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const Message message{action.verb,
                            action.peer,
                            begin + size * piece / pieces,
                            begin + size * (piece + 1) / pieces,
                            0,
                            {}};
      if (message.begin == message.end) continue;
      program.messages.push_back(message);
      phase_of.push_back(action.phase);
    }
  }
  Dependencies dependencies(program.messages, elements);
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const Message& message = program.messages[i];
    const std::int64_t size = message.end - message.begin;
    program.largest_message = std::max(program.largest_message, size);
    if (message.verb == Verb::send) {
      program.elements_sent += size;
      ++program.messages_sent;
    }
    for (const int earlier : dependencies.note(message, static_cast<int>(i)))
      link(program.messages, earlier, static_cast<int>(i));
  }
  if (overlap == Overlap::none) separate_phases(program.messages, phase_of);
  return program;
}

Exchange execute(Endpoint& endpoint, const Group& group, Tag tag, const Program& program,
                 const at::Tensor& values, Scratch& scratch, Deadline deadline) {
  Execution execution(endpoint, group, tag, program, values, scratch);
  try {
    return execution.run(deadline);
  } catch (...) {
    execution.give_up();
    throw;
  }
}

}  // namespace huddle
