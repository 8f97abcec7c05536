#include "huddle/collective/trace.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "huddle/base/error.h"

namespace huddle {
namespace {

// A value of one segment somewhere: which node of the segment's tree it is, and how many messages
// led to it.
struct Value {
  int node = 0;
  int depth = 0;
};

struct Message {
  int first = 0;
  int last = 0;
  std::vector<Value> values;
};

class Tracer {
 public:
  explicit Tracer(const std::vector<Plan>& plans)
      : plans_(plans),
        members_(static_cast<int>(plans.size())),
        segments_(plans.front().segments),
        next_(plans.size(), 0) {
    for (const Plan& plan : plans)
      check(plan.segments == segments_, "plans disagree on the number of segments");
    trees_.resize(static_cast<std::size_t>(segments_));
    for (int member = 0; member < members_; ++member) {
      values_.emplace_back(static_cast<std::size_t>(segments_), Value{member, 0});
    }
  }

  Trace run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int member = 0; member < members_; ++member)
        while (step(member)) progress = true;
    }
    for (std::size_t member = 0; member < plans_.size(); ++member)
      check(next_[member] == plans_[member].actions.size(),
            "a plan waits for a message that nobody sends");
    return result();
  }

 private:
  using Sum = std::pair<int, int>;

  // The node for left + right. Addition commutes exactly, so both orders are one node, with the
  // deeper operand on the left.
  int add(int segment, int left, int right) {
    auto& tree = trees_[static_cast<std::size_t>(segment)];
    const Sum sum = std::minmax(left, right);
    constexpr int kBits = 21;
    check(sum.second < 1 << kBits, "a plan of too many sums to be traced");
    const auto key = static_cast<std::uint64_t>(segment) << 2 * kBits |
                     static_cast<std::uint64_t>(sum.first) << kBits |
                     static_cast<std::uint64_t>(sum.second);
    const auto [entry, is_new] = nodes_.try_emplace(key, members_ + static_cast<int>(tree.size()));
    if (is_new) tree.push_back(sum);
    return entry->second;
  }

  bool step(int member) {
    const auto self = static_cast<std::size_t>(member);
    if (next_[self] == plans_[self].actions.size()) return false;
    const Action& action = plans_[self].actions[next_[self]];
    auto& values = values_[self];
    if (action.verb == Action::Verb::send) {
      Message message{action.first, action.last, {}};
      for (int segment = action.first; segment < action.last; ++segment) {
        Value value = values[static_cast<std::size_t>(segment)];
        ++value.depth;
        message.values.push_back(value);
      }
      wires_[{member, action.peer}].push_back(std::move(message));
    } else {
      auto& wire = wires_[{action.peer, member}];
      if (wire.empty()) return false;
      const Message message = std::move(wire.front());
      wire.pop_front();
      check(message.first == action.first && message.last == action.last,
            "two plans disagree on what a message holds");
      receive(action, message, values);
    }
    ++next_[self];
    return true;
  }

  void receive(const Action& action, const Message& message, std::vector<Value>& values) {
    for (int segment = action.first; segment < action.last; ++segment) {
      Value& mine = values[static_cast<std::size_t>(segment)];
      const Value& other = message.values[static_cast<std::size_t>(segment - action.first)];
      const int node =
          action.verb == Action::Verb::add ? add(segment, mine.node, other.node) : other.node;
      mine = {node, std::max(mine.depth, other.depth)};
      longest_ = std::max(longest_, mine.depth);
    }
  }

  // The nodes that lead to `root`, renumbered in the order in which they are needed, each
  // contribution once.
  SumOrder order_of(int segment, int root) const {
    const auto& tree = trees_[static_cast<std::size_t>(segment)];
    std::vector<int> seen(static_cast<std::size_t>(members_), 0);
    SumOrder order{.members = members_, .sums = {}};
    const auto visit = [&](const auto& self, int node) -> int {
      if (node < members_) {
        ++seen[static_cast<std::size_t>(node)];
        return node;
      }
      const auto [low, high] = tree[static_cast<std::size_t>(node - members_)];
      const int left =
          self(self, high);  // The deeper operand first: a chain of sums then needs no buffer.
      const int right = self(self, low);
      order.sums.push_back({left, right});
      return members_ + static_cast<int>(order.sums.size()) - 1;
    };
    visit(visit, root);
    check(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }),
          "a plan does not add every contribution exactly once");
    return order;
  }

  Trace result() const {
    Trace traced{.orders = {}, .sequential_messages = longest_};
    for (int segment = 0; segment < segments_; ++segment) {
      const int root = values_.front()[static_cast<std::size_t>(segment)].node;
      for (const auto& values : values_)
        check(values[static_cast<std::size_t>(segment)].node == root,
              "members end with different sums");
      traced.orders.push_back(order_of(segment, root));
    }
    return traced;
  }

  const std::vector<Plan>& plans_;
  const int members_;
  const int segments_;
  std::vector<std::size_t> next_;                 // By member: its next action.
  std::vector<std::vector<Value>> values_;        // By member and segment.
  std::vector<std::vector<Sum>> trees_;           // By segment.
  std::unordered_map<std::uint64_t, int> nodes_;  // By segment and sum.
  std::map<Sum, std::deque<Message>> wires_;      // By (from, to).
  int longest_ = 0;
};

}  // namespace

Trace trace(const std::vector<Plan>& plans) { return Tracer(plans).run(); }

}  // namespace huddle
