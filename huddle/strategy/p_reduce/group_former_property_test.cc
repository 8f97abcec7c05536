// Random events through the group former, beside a model of what workers can be up to.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/random.h"
#include "huddle/strategy/p_reduce/group_former.h"

namespace huddle {
namespace {

using Filter = GroupFormerOptions::Filter;
using Groups = GroupFormer::Groups;

constexpr int kSequences = 100'000;
constexpr int kMostWorkers = 7;

enum class State { absent, left, newcomer, computing, waiting };

struct Peer {
  State state = State::absent;
  int life = -1;
  std::int64_t iteration = 0;
  std::int64_t ticket = 0;           // When it last reported.
  std::optional<GroupId> averaging;  // The group it may still abort.
  int patience = 0;                  // Further groups that may form without it while it waits.
};

// One sequence of events. Whatever the former answers is held against what the model knows.
class EventSequence {
 public:
  explicit EventSequence(std::uint64_t seed)
      : random_(seed), options_(random_options(random_)), former_(options_) {
    for (int worker = 0; worker < options_.workers; ++worker)
      peers_[worker] = {.state = State::computing, .life = 0};
  }

  // Stops at the first failure, which the test then reports with its seed.
  void play(int events) {
    for (int event = 0; event < events && !testing::Test::HasFailure(); ++event) random_event();
  }

  const GroupFormer& former() const { return former_; }

 private:
  static GroupFormerOptions random_options(Random& random) {
    const int workers = 2 + static_cast<int>(random.below(kMostWorkers - 2));
    GroupFormerOptions options{.workers = workers};
    options.group = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(workers) - 1));
    if (random.below(4) == 0) options.filter = Filter::off;
    if (random.below(2) == 0)
      options.window = smallest_window(options) + static_cast<int>(random.below(6));
    if (random.below(4) == 0) options.budget = static_cast<std::int64_t>(10 + random.below(40));
    return options;
  }

  std::uint64_t draw(std::size_t bound) { return random_.below(bound); }

  // Some worker in one of these states, if there is any.
  std::optional<int> somebody(std::initializer_list<State> states) {
    std::vector<int> candidates;
    for (const auto& [worker, peer] : peers_)
      if (std::find(states.begin(), states.end(), peer.state) != states.end())
        candidates.push_back(worker);
    if (candidates.empty()) return {};
    return candidates[draw(1 + draw(candidates.size()))];  // Those first listed are faster.
  }

  void random_event() {
    const std::uint64_t kind = draw(100);
    if (kind < 70)
      report();
    else if (kind < 80)
      abort();
    else if (kind < 85)
      lose();
    else if (kind < 88)
      leave();
    else if (kind < 93)
      join();
    else if (kind < 96)
      speak_from_the_dead();
    else if (kind < 99)
      talk_nonsense();
    else if (draw(3) == 0)
      settle(former_.end(), true);
  }

  void report() {
    const std::optional<int> worker = somebody({State::newcomer, State::computing});
    if (!worker) return;
    Peer& peer = peers_[*worker];
    ++steps_;
    const bool ends = options_.budget > 0 && steps_ >= options_.budget;
    peer.averaging.reset();
    peer.ticket = steps_;
    ++peer.iteration;
    enqueue(*worker);
    settle(former_.ready({WorkerId{*worker}, peer.life}, peer.iteration), ends);
  }

  void abort() {
    std::vector<int> candidates;
    for (const auto& [worker, peer] : peers_)
      if (peer.state == State::computing && peer.averaging) candidates.push_back(worker);
    if (candidates.empty()) return;
    const int worker = candidates[draw(candidates.size())];
    Peer& peer = peers_[worker];
    const GroupId group = *std::exchange(peer.averaging, std::nullopt);
    enqueue(worker);
    settle(former_.aborted(group, {WorkerId{worker}, peer.life}), false);
  }

  void lose() {
    const std::optional<int> worker =
        somebody({State::newcomer, State::computing, State::waiting, State::left});
    if (!worker) return;
    Peer& peer = peers_[*worker];
    if (peer.state != State::left) peer.state = State::absent;
    settle(former_.lost({WorkerId{*worker}, peer.life}), false);
  }

  void leave() {
    const std::optional<int> worker = somebody({State::computing, State::waiting});
    if (!worker) return;
    peers_[*worker].state = State::left;
    settle(former_.left({WorkerId{*worker}, peers_[*worker].life}), false);
  }

  // Mostly of one who is away, at times of a new worker or of one whose end nobody noticed.
  void join() {
    std::optional<int> worker = somebody({State::absent, State::left});
    if (draw(5) == 0) worker = static_cast<int>(draw(kMostWorkers));
    if (!worker) return;
    Peer& peer = peers_[*worker];
    peer = {.state = State::newcomer, .life = peer.life + 1, .iteration = peer.iteration};
    settle(former_.joined(WorkerId{*worker}), false);
    ASSERT_EQ(former_.incarnation(WorkerId{*worker}), peer.life);
  }

  // Messages of a life that is over change nothing.
  void speak_from_the_dead() {
    const std::optional<int> worker =
        somebody({State::absent, State::newcomer, State::computing, State::waiting});
    if (!worker) return;
    const Peer& peer = peers_[*worker];
    const Incarnation dead{WorkerId{*worker},
                           peer.state == State::absent ? peer.life : peer.life - 1};
    if (dead.number < 0) return;
    const std::size_t waiting = former_.waiting().size();
    const std::int64_t holds = former_.counters().holds;
    ASSERT_TRUE(former_.ready(dead, 1).empty());
    ASSERT_TRUE(former_.aborted({0}, dead).empty());
    ASSERT_TRUE(former_.left(dead).empty());
    ASSERT_TRUE(former_.lost(dead).empty());
    ASSERT_EQ(former_.waiting().size(), waiting);
    ASSERT_EQ(former_.counters().holds, holds);
  }

  void talk_nonsense() {
    EXPECT_THROW(former_.ready({WorkerId{kMostWorkers}}, 1), LogicError);
    if (const auto worker = somebody({State::waiting, State::left})) {
      EXPECT_THROW(former_.ready({WorkerId{*worker}, peers_[*worker].life}, 1), LogicError);
    }
    if (const auto worker = somebody({State::newcomer, State::waiting, State::left})) {
      EXPECT_THROW(former_.aborted({0}, {WorkerId{*worker}, peers_[*worker].life}), LogicError);
    }
    settle({}, false);
  }

  // Workers that wait, in the order in which they reported.
  std::vector<int> queue() const {
    std::vector<int> result;
    for (const auto& [worker, peer] : peers_)
      if (peer.state == State::waiting) result.push_back(worker);
    std::sort(result.begin(), result.end(),
              [&](int a, int b) { return peers_.at(a).ticket < peers_.at(b).ticket; });
    return result;
  }

  int active() const {
    return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), [](const auto& each) {
      return each.second.state == State::computing || each.second.state == State::waiting;
    }));
  }

  // Whoever comes to stand before others costs each of them one group at most.
  void enqueue(int worker) {
    Peer& peer = peers_[worker];
    peer.patience = 0;
    for (auto& [other, behind] : peers_)
      if (behind.state == State::waiting) {
        if (behind.ticket > peer.ticket)
          ++behind.patience;
        else
          ++peer.patience;
      }
    peer.state = State::waiting;
  }

  // Takes the groups that an event completed, and looks at what is left.
  void settle(const Groups& groups, bool ends) {
    ended_ = ended_ || ends;
    for (const FormedGroup& group : groups) {
      check_group(group);
      if (testing::Test::HasFatalFailure()) return;
      take(group);
    }
    check_rest();
  }

  void check_group(const FormedGroup& group) {
    const std::vector<int> waiting = queue();
    ASSERT_FALSE(waiting.empty());
    const std::size_t size = static_cast<std::size_t>(std::min(options_.group, active()));
    ASSERT_EQ(group.members.size(), ended_ ? std::min(size, waiting.size()) : size);
    ASSERT_EQ(group.members.front().value, waiting.front()) << "the head of the queue is displaced";
    ASSERT_EQ(group.id.value, groups_);
    ASSERT_EQ(group.last, ended_);
    std::vector<WorkerId> distinct = group.members;
    std::sort(distinct.begin(), distinct.end());
    ASSERT_EQ(std::adjacent_find(distinct.begin(), distinct.end()), distinct.end());
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const Peer& peer = peers_[group.members[i].value];
      ASSERT_EQ(peer.state, State::waiting) << "worker " << group.members[i].value;
      ASSERT_EQ(peer.iteration, group.iterations[i]);
    }
  }

  void take(const FormedGroup& group) {
    ++groups_;
    for (const WorkerId member : group.members) {
      Peer& peer = peers_[member.value];
      peer.state = State::computing;
      peer.averaging = group.id;
    }
    for (auto& [worker, peer] : peers_) {
      if (peer.state == State::waiting) --peer.patience;
      ASSERT_GE(peer.patience, 0) << "worker " << worker << " starves";
    }
  }

  void check_rest() {
    const std::vector<int> waiting = queue();
    ASSERT_EQ(former_.waiting().size(), waiting.size());
    for (std::size_t i = 0; i < waiting.size(); ++i)
      ASSERT_EQ(former_.waiting()[i].worker.value, waiting[i]);
    ASSERT_EQ(former_.ended(), ended_);
    ASSERT_TRUE(!ended_ || waiting.empty());
    if (waiting.empty()) return;
    const int enough = std::min(options_.group, active());
    ASSERT_LT(static_cast<int>(waiting.size()), active()) << "everybody waits for ever";
    ASSERT_EQ(former_.holding(), static_cast<int>(waiting.size()) >= enough);
    if (former_.holding()) check_hold();
  }

  // A hold waits for somebody: one outsider's report ends it.
  void check_hold() {
    ASSERT_EQ(options_.filter, Filter::on);
    bool ends = false;
    for (const auto& [worker, peer] : peers_)
      if (peer.state == State::computing && !ends) {
        GroupFormer next = former_;
        ends = !next.ready({WorkerId{worker}, peer.life}, 1).empty();
      }
    ASSERT_TRUE(ends) << "no report can end this hold";
  }

  Random random_;
  GroupFormerOptions options_;
  GroupFormer former_;
  std::map<int, Peer> peers_;
  std::int64_t steps_ = 0;
  std::int64_t groups_ = 0;
  bool ended_ = false;
};

TEST(GroupFormerProperties, HoldForRandomSequencesOfEvents) {
  GroupFormerCounters total;
  for (int seed = 0; seed < kSequences; ++seed) {
    EventSequence sequence(static_cast<std::uint64_t>(seed));
    sequence.play(40);
    ASSERT_FALSE(HasFailure()) << "in the sequence of seed " << seed;
    const GroupFormerCounters& counters = sequence.former().counters();
    total.groups += counters.groups;
    total.bridges += counters.bridges;
    total.holds += counters.holds;
    total.aborted += counters.aborted;
  }
  // The sequences get to where it is difficult.
  EXPECT_GT(total.groups, 5 * kSequences);
  EXPECT_GT(total.bridges, kSequences / 10);
  EXPECT_GT(total.holds, kSequences / 10);
  EXPECT_GT(total.aborted, kSequences / 2);
}

}  // namespace
}  // namespace huddle
