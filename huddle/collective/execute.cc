#include "huddle/collective/execute.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/collective/arithmetic.h"

namespace huddle {
namespace {

// How much may be under way with one peer in one direction: enough that one message travels while
// another is added, and that small ones do not wait for each other's latency.
constexpr std::size_t kWindowMessages = 4;
constexpr std::int64_t kWindowElements = 4 << 20;

// Where a plan does not ask for more, the messages of one peer wait for one another but for a few,
// and there is no use in expecting those of all later steps.
constexpr std::size_t kMostMessages = 16;

using Verb = Action::Verb;

class Execution {
 public:
  Execution(Endpoint& endpoint, const Group& group, Tag tag, const CompiledPlan& compiled,
            const at::Tensor& values, const WireTerms& wire, const at::Tensor& mean,
            Scratch& scratch)
      : endpoint_(endpoint),
        group_(group),
        tag_(tag),
        compiled_(compiled),
        values_(values),
        wire_(wire),
        mean_(mean),
        is_narrow_(wire.format != WireFormat::full),
        wire_type_(wire_type(wire.format, values.scalar_type())),
        scratch_(scratch) {
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i].waits_for = compiled.messages[i].waits_for;
    may_start_.reserve(2 * queues_.size());
    fronts_.reserve(queues_.size());
    awaited_.reserve(1 + queues_.size());
    for (std::size_t queue = 0; queue < queues_.size(); ++queue)
      may_start_.push_back(static_cast<int>(queue));
    for (std::size_t buffer = 0; buffer < scratch.size(); ++buffer)
      free_scratch_.push_back(static_cast<int>(buffer));
  }

  Exchange run(Deadline deadline) {
    exchange_.begin = endpoint_.now();
    exchange_.first_bytes = -1;
    Pending losses = endpoint_.watch(group_);
    for (std::size_t left = states_.size(); left > 0; left -= std::exchange(ended_, 0)) {
      std::sort(may_start_.begin(), may_start_.end());
      for (const int queue : may_start_) start_next(queue);
      may_start_.clear();
      check(!fronts_.empty(), "a plan cannot go on: its messages wait for one another");
      // First: the death of a member explains whatever else has failed.
      awaited_.assign(1, &losses);
      for (const Front& front : fronts_) awaited_.push_back(&first_state_of(front.queue).pending);
      const std::size_t index = wait_any(awaited_, deadline);
      if (index == 0) losses.wait(deadline);  // Throws.
      take_front(index - 1, deadline);
    }
    exchange_.end = endpoint_.now();
    if (exchange_.first_bytes < 0) exchange_.first_bytes = exchange_.end;
    return exchange_;
  }

  void give_up() {
    for (State& state : states_) state.pending.cancel();
  }

 private:
  struct Front {
    int started;  // How many messages had been started before the queue's first under way.
    int queue;
    auto operator<=>(const Front&) const = default;
  };

  // How far a queue of the plan has come: its messages from `first` up to `next` are under way.
  // Both ends start them in order, and agree by that on which is which; they end in order, so only
  // the first is waited for.
  struct Queue {
    std::size_t first = 0;
    std::size_t next = 0;
    std::int64_t elements_under_way = 0;

    std::size_t messages_under_way() const { return next - first; }
  };

  // Of one message.
  struct State {
    int waits_for = 0;
    int scratch = -1;
    int started = 0;  // How many messages had been started before it.
    bool arrived = false;
    Pending pending;
  };

  // The number of the first message under way in a queue.
  int first_of(int queue) const {
    return compiled_
        .queues[static_cast<std::size_t>(queue)][queues_[static_cast<std::size_t>(queue)].first];
  }
  State& first_state_of(int queue) { return states_[static_cast<std::size_t>(first_of(queue))]; }

  void start_next(int number) {
    Queue& queue = queues_[static_cast<std::size_t>(number)];
    const std::vector<int>& messages = compiled_.queues[static_cast<std::size_t>(number)];
    while (queue.next < messages.size()) {
      const int index = messages[queue.next];
      const Message& message = compiled_.messages[static_cast<std::size_t>(index)];
      if (is_full(queue, message)) return;
      State& state = states_[static_cast<std::size_t>(index)];
      // What is sent or overwritten must be left alone by everybody else.
      if (!message.comes_early && state.waits_for > 0) return;
      if (queue.messages_under_way() == 0) fronts_.push_back({started_, number});
      state.started = started_++;
      state.pending = start(message, state);
      ++queue.next;
      queue.elements_under_way += message.size();
    }
  }

  bool is_full(const Queue& queue, const Message& next) const {
    const std::size_t messages = queue.messages_under_way();
    return (messages >= kMostMessages && !compiled_.is_cut_to_travel) ||
           (messages >= kWindowMessages &&
            queue.elements_under_way + next.size() > kWindowElements);
  }

  // The first message under way in the queue of this front has ended.
  void take_front(std::size_t front, Deadline deadline) {
    const int number = fronts_[front].queue;
    Queue& queue = queues_[static_cast<std::size_t>(number)];
    const int message = first_of(number);
    Pending arrived = std::move(first_state_of(number).pending);
    ++queue.first;
    fronts_.erase(fronts_.begin() + static_cast<std::ptrdiff_t>(front));
    if (queue.messages_under_way() > 0) {
      const Front next{first_state_of(number).started, number};
      fronts_.insert(std::lower_bound(fronts_.begin(), fronts_.end(), next), next);
    }
    const Time first_bytes = arrived.first_bytes();
    arrived.wait(deadline);
    queue.elements_under_way -= compiled_.messages[static_cast<std::size_t>(message)].size();
    may_start_.push_back(number);
    arrive(message, first_bytes);
  }

  Pending start(const Message& message, State& state) {
    const WorkerId peer = group_[message.peer];
    if (message.verb == Verb::send) {
      ++exchange_.messages_sent;
      exchange_.bytes_sent += wire_bytes(wire_.format, values_.scalar_type(), message.size());
      return endpoint_.send(peer, tag_, outgoing(message, state));
    }
    if ((message.verb == Verb::copy && !is_narrow_) || values_.is_meta())
      return endpoint_.receive(peer, tag_, stretch_of(message));
    take_scratch(state);
    return endpoint_.receive(peer, tag_, scratch_of(message, state));
  }

  void take_scratch(State& state) {
    if (free_scratch_.empty()) {
      free_scratch_.push_back(static_cast<int>(scratch_.size()));
      scratch_.emplace_back();
    }
    state.scratch = free_scratch_.back();
    free_scratch_.pop_back();
    at::Tensor& buffer = scratch_[static_cast<std::size_t>(state.scratch)];
    const std::int64_t largest = wire_size(wire_.format, compiled_.largest_message);
    if (!buffer.defined() || buffer.numel() < largest || buffer.scalar_type() != wire_type_)
      buffer = at::empty({largest}, values_.options().dtype(wire_type_));
  }

  void arrive(int index, Time first_bytes) {
    State& state = states_[static_cast<std::size_t>(index)];
    if (exchange_.first_bytes < 0 &&
        compiled_.messages[static_cast<std::size_t>(index)].verb != Verb::send)
      exchange_.first_bytes = std::max(exchange_.begin, first_bytes);
    state.arrived = true;
    if (state.waits_for == 0) end(index);
  }

  // The message has arrived and nothing that came before it is in the way.
  void end(int index) {
    ready_.push_back(index);
    while (!ready_.empty()) {
      const int current = ready_.back();
      ready_.pop_back();
      const Message& message = compiled_.messages[static_cast<std::size_t>(current)];
      State& state = states_[static_cast<std::size_t>(current)];
      if (state.scratch >= 0) {
        if (message.verb == Verb::add && mean_.defined())
          set_to_mean(part(mean_, message.begin, message.end), stretch_of(message),
                      scratch_of(message, state));
        else if (message.verb == Verb::add)
          add_decoded(wire_.format, stretch_of(message), scratch_of(message, state));
        else if (message.verb == Verb::copy)
          decode(wire_.format, stretch_of(message), scratch_of(message, state));
        free_scratch_.push_back(state.scratch);
      }
      ++ended_;
      for (const int later : compiled_.wakes(current)) {
        State& woken = states_[static_cast<std::size_t>(later)];
        if (--woken.waits_for > 0) continue;
        if (woken.arrived)
          ready_.push_back(later);
        else
          may_start_.push_back(compiled_.messages[static_cast<std::size_t>(later)].queue);
      }
    }
  }

  // Elements begin..end-1; the tensor itself where that is all of it, which costs nothing.
  static at::Tensor part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
    return begin == 0 && end == tensor.numel() ? tensor : tensor.narrow(0, begin, end - begin);
  }
  at::Tensor stretch_of(const Message& message) {
    const bool is_whole = message.size() == values_.numel() && !is_narrow_;
    if (!values_.is_meta() || is_whole) return part(values_, message.begin, message.end);
    const std::int64_t size = wire_size(wire_.format, message.size());
    at::Tensor& blank = blanks_[size];
    if (!blank.defined()) blank = at::empty({size}, values_.options().dtype(wire_type_));
    return blank;
  }
  // What is sent is rounded for its sender, too: all go on with the same numbers.
  at::Tensor outgoing(const Message& message, State& state) {
    const at::Tensor stretch = stretch_of(message);
    if (!is_narrow_ || values_.is_meta()) return stretch;
    take_scratch(state);
    const at::Tensor sent = scratch_of(message, state);
    Losses losses = wire_.losses;
    if (losses.errors.defined()) losses.errors = part(losses.errors, message.begin, message.end);
    encode(wire_.format, sent, stretch, losses);
    return sent;
  }
  at::Tensor scratch_of(const Message& message, const State& state) const {
    return part(scratch_[static_cast<std::size_t>(state.scratch)], 0,
                wire_size(wire_.format, message.size()));
  }

  Endpoint& endpoint_;
  const Group& group_;
  const Tag tag_;
  const CompiledPlan& compiled_;
  const at::Tensor& values_;
  const WireTerms& wire_;
  const at::Tensor& mean_;
  const bool is_narrow_;
  const at::ScalarType wire_type_;
  Scratch& scratch_;

  // What follows lies side by side on the worker's stack where the plan is small: thousands of
  // simulated workers take turns, and whatever one of them touches was cold.
  std::array<std::byte, 768> place_;
  std::pmr::monotonic_buffer_resource memory_{place_.data(), place_.size()};
  std::pmr::vector<State> states_{compiled_.messages.size(), &memory_};
  std::pmr::vector<Queue> queues_{compiled_.queues.size(), &memory_};  // They start in this order.
  std::pmr::vector<Front> fronts_{&memory_};  // In order: the queues with something under way.
  std::pmr::vector<Pending*> awaited_{&memory_};
  std::pmr::vector<int> may_start_{
      &memory_};  // Queues whose next message may have become possible.
  std::pmr::vector<int> free_scratch_{&memory_};
  std::pmr::vector<int> ready_{&memory_};  // Messages that end now; empty between calls.
  std::pmr::map<std::int64_t, at::Tensor> blanks_{
      &memory_};  // By size: without numbers one will do.
  int started_ = 0;
  std::size_t ended_ = 0;  // Since the main loop last looked.
  Exchange exchange_;
};

}  // namespace

Exchange execute(Endpoint& endpoint, const Group& group, Tag tag, const CompiledPlan& compiled,
                 const at::Tensor& values, const WireTerms& wire, const at::Tensor& mean,
                 Scratch& scratch, Deadline deadline) {
  Execution execution(endpoint, group, tag, compiled, values, wire, mean, scratch);
  try {
    return execution.run(deadline);
  } catch (...) {
    execution.give_up();
    throw;
  }
}

}  // namespace huddle
