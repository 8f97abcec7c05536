#include "huddle/strategy/p_reduce/controller.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/base/error.h"
#include "huddle/strategy/lanes.h"
#include "huddle/transport/threads/launcher.h"

namespace huddle {
namespace {

using Kind = Request::Kind;

using Asked = Requests<Request>::Event;

Asked ready(int worker, std::int64_t iteration, std::int64_t number = 0) {
  return {{worker}, number, {.kind = Kind::ready, .iteration = iteration}};
}

Asked aborted(int worker, GroupId group, WorkerId lost) {
  return {{worker}, 0, {.kind = Kind::abort, .group = group, .lost = lost}};
}

// Who is answered, in order.
std::vector<int> receivers(const std::vector<Reply>& replies) {
  std::vector<int> workers;
  for (const Reply& reply : replies) workers.push_back(reply.to.value);
  return workers;
}

Controller pairs_of_four(std::int64_t budget = 0) {
  return Controller({.former = {.workers = 4, .group = 2, .budget = budget}});
}

TEST(Assignment, SortsMembersAndTheirWeightsAlike) {
  const Assignment given =
      assign({.id = {7}, .members = {{3}, {0}, {2}}, .iterations = {5, 6, 7}, .last = true},
             DynamicWeights{.decay = 0.5});
  EXPECT_EQ(given.group, Group({{0}, {2}, {3}}));
  EXPECT_NEAR(given.weights[0], 2. / 7, 1e-15);
  EXPECT_NEAR(given.weights[1], 4. / 7, 1e-15);
  EXPECT_NEAR(given.weights[2], 1. / 7, 1e-15);
  EXPECT_EQ(given.iteration, 7);
  EXPECT_TRUE(given.last);
}

TEST(Controller, TellsThoseWhoTakeFewerStepsToLearnFaster) {
  Controller controller(
      {.former = {.workers = 4, .group = 2, .filter = GroupFormerOptions::Filter::off},
       .balances = true});
  std::vector<double> factors(4, 1);
  const auto step = [&](int worker) {
    for (const Reply& reply : controller.handle(ready(worker, 0)))
      factors[static_cast<std::size_t>(reply.to.value)] = reply.given.rate_factor;
  };
  for (int round = 0; round < 50; ++round) {
    for (int turn = 0; turn < 5; ++turn)
      for (const int worker : {0, 1, 0, 2}) step(worker);
    for (const int worker : {0, 3}) step(worker);
  }
  EXPECT_GT(factors[3], 4);
  EXPECT_LT(factors[0], 0.6);
  EXPECT_NEAR(factors[1], factors[2], 0.1);
}

TEST(ControllerMessages, ArriveAsTheyWereSent) {
  const auto request = from_tensor<Request>(to_tensor(
      Request{.kind = Kind::abort, .life = 2, .iteration = 9, .group = {11}, .lost = {5}}));
  EXPECT_EQ(request.kind, Kind::abort);
  EXPECT_EQ(request.life, 2);
  EXPECT_EQ(request.iteration, 9);
  EXPECT_EQ(request.group, GroupId{11});
  EXPECT_EQ(request.lost, WorkerId{5});

  const Assignment sent{.id = {12},
                        .group = Group({{1}, {4}}),
                        .weights = {0.1, 0.9},
                        .iteration = 6,
                        .progress = 2.75,
                        .last = true};
  const auto given = from_tensor<Assignment>(to_tensor(sent, longest_assignment(3)));
  EXPECT_EQ(given.id, sent.id);
  EXPECT_EQ(given.group, sent.group);
  EXPECT_EQ(given.weights, sent.weights);
  EXPECT_EQ(given.iteration, 6);
  EXPECT_EQ(given.progress, 2.75);
  EXPECT_TRUE(given.last);
}

TEST(Controller, RepliesToEveryMemberUnderTheNumberOfItsRequest) {
  Controller controller = pairs_of_four();
  EXPECT_TRUE(controller.handle(ready(2, 1, 40)).empty());
  const std::vector<Reply> replies = controller.handle(ready(1, 3, 50));
  ASSERT_EQ(receivers(replies), (std::vector<int>{1, 2}));
  EXPECT_EQ(replies[0].number, 50);
  EXPECT_EQ(replies[1].number, 40);
  EXPECT_EQ(replies[0].given.iteration, 3);
  EXPECT_EQ(replies[0].given.progress, 2. / 4);
  EXPECT_FALSE(replies[0].given.last);
}

TEST(Controller, GivesUpWhomAPeerLostAndTellsIt) {
  Controller controller = pairs_of_four();
  controller.handle(ready(0, 1));
  const GroupId group = controller.handle(ready(1, 1)).front().given.id;
  EXPECT_TRUE(controller.handle(aborted(0, group, {1})).empty());
  EXPECT_EQ(controller.present(), 3);
  const std::vector<Reply> dismissal = controller.handle(ready(1, 2, 9));
  ASSERT_EQ(receivers(dismissal), std::vector<int>{1});
  EXPECT_EQ(dismissal[0].number, 9);
  EXPECT_EQ(dismissal[0].given.group.size(), 0);
  EXPECT_EQ(receivers(controller.handle(ready(3, 1))), (std::vector<int>{0, 3}));
  EXPECT_TRUE(controller.lost({1}).empty());
  EXPECT_EQ(controller.present(), 3);
}

TEST(Controller, FormsTheGroupThatALossCompletes) {
  Controller controller({.former = {.workers = 3, .group = 3}});
  controller.handle(ready(0, 1));
  controller.handle(ready(1, 1));
  EXPECT_EQ(receivers(controller.lost({2})), (std::vector<int>{0, 1}));
}

TEST(Controller, EndsWhenTheBudgetIsSpentAndEverybodyHasLeft) {
  Controller controller = pairs_of_four(3);
  controller.handle(ready(0, 1));
  EXPECT_FALSE(controller.handle(ready(1, 1)).front().given.last);
  EXPECT_TRUE(controller.handle(ready(2, 1)).front().given.last);
  EXPECT_EQ(receivers(controller.handle(ready(3, 1))), std::vector<int>{3});
  for (int worker = 0; worker < 4; ++worker)
    controller.handle({{worker}, 0, {.kind = Kind::leave}});
  EXPECT_EQ(controller.present(), 0);
  EXPECT_TRUE(controller.lost({2}).empty());  // It has merely ended.
}

TEST(Controller, ReportsWhatItCounted) {
  Controller controller({.former = {.workers = 2, .group = 2}});
  controller.handle(ready(0, 1));
  controller.handle(ready(1, 3));
  const std::map<std::string, double> figures = controller.figures();
  EXPECT_EQ(figures.at("p_reduce.groups"), 1);
  EXPECT_EQ(figures.at("p_reduce.groups_of.2"), 1);
  EXPECT_EQ(figures.at("p_reduce.staleness.0"), 1);
  EXPECT_EQ(figures.at("p_reduce.staleness.2"), 1);
  EXPECT_EQ(figures.at("p_reduce.staleness"), 1);
  EXPECT_EQ(figures.at("p_reduce.staleness_max"), 2);
  EXPECT_EQ(figures.at("p_reduce.share.0"), 0.5);
  EXPECT_NEAR(figures.at("p_reduce.rho"), 0, 1e-12);
  EXPECT_EQ(figures.at("p_reduce.rho_random"), 0);
}

// Worker 3 dies before its first report, worker 2 in the middle of its second group.
TEST(Controller, ReportsHowTheSurvivorsMix) {
  Controller controller = pairs_of_four();
  controller.lost({3});
  controller.handle(ready(0, 1));
  controller.handle(ready(2, 1));
  controller.handle(ready(1, 1));
  const GroupId group = controller.handle(ready(2, 9)).front().given.id;
  EXPECT_EQ(controller.figures().at("p_reduce.staleness_max"), 8);
  EXPECT_LT(controller.figures().at("p_reduce.rho"), 0.9) << "worker 2 has met both others";

  controller.handle(ready(0, 2));
  EXPECT_EQ(receivers(controller.handle(aborted(1, group, {2}))), (std::vector<int>{0, 1}));
  const std::map<std::string, double> figures = controller.figures();
  EXPECT_EQ(figures.at("p_reduce.aborted"), 1);
  EXPECT_EQ(figures.at("p_reduce.staleness.0"), 3) << "0 and 2 at first, 0 in the end";
  EXPECT_EQ(figures.at("p_reduce.staleness.1"), 1) << "1, whose aborted group counts no more";
  EXPECT_EQ(figures.at("p_reduce.staleness"), 0.25);
  EXPECT_EQ(figures.at("p_reduce.staleness_max"), 1);
  EXPECT_NEAR(figures.at("p_reduce.rho"), 0.5, 1e-12) << "0 alone, then with 1";
  EXPECT_EQ(figures.at("p_reduce.rho_random"), 0.5);
}

TEST(GroupLog, ForgetsWhoAborted) {
  GroupLog log(4);
  log.add({.id = {0}, .members = {{0}, {1}, {2}}, .iterations = {5, 5, 7}});
  log.add({.id = {1}, .members = {{3}}, .iterations = {1}});
  log.withdraw({0}, {0});
  log.withdraw({0}, {0});
  log.withdraw({1}, {0});
  EXPECT_EQ(log.figures("", {}).at("staleness.2"), 1);
  EXPECT_EQ(log.figures("", {}).at("staleness.0"), 2);
  log.add({.id = {2}, .members = {{1}, {2}, {0}, {3}}, .iterations = {7, 7, 7, 7}});
  log.withdraw({0}, {2});
  EXPECT_EQ(log.figures("", {}).at("staleness.0"), 6) << "2 is past that group and had finished it";
}

TEST(GroupLog, AddsUpTheTimeHeld) {
  GroupLog log(2);
  log.holding(false, 1);
  log.holding(true, 2);
  log.holding(true, 3);
  log.holding(false, 5);
  log.holding(false, 8);
  EXPECT_EQ(log.figures("", {}).at("held_s"), 3);
}

// A service beside the last worker, asked by all at once, its home included.
TEST(Controller, ServesManyGroupsAtOnce) {
  constexpr int kWorkers = 6;
  constexpr int kRounds = 50;
  Controller controller({.former = {.workers = kWorkers, .group = 3}});
  ThreadsOptions engine;
  engine.cluster.workers = kWorkers;
  make_threads_launcher(engine)->run([&](Endpoint& endpoint) {
    Service service(endpoint, {.home = {kWorkers - 1},
                               .lane = kControllerLane,
                               .deadline = {20},
                               .without = [](WorkerId) { return "no controller"; }});
    Client<Request, Assignment> client(endpoint, service, kControllerLane, longest_assignment(3));
    if (service.is_here()) service.start([&](Endpoint& beside) { controller.serve(beside); });
    std::int64_t iteration = 0;
    for (int round = 0; round < kRounds; ++round) {
      client.ask({.kind = Kind::ready, .iteration = ++iteration});
      const Assignment given = client.reply();
      EXPECT_TRUE(given.group.contains(endpoint.self()));
      iteration = given.iteration;
    }
    client.tell({.kind = Kind::leave});
    service.join();
  });
  EXPECT_EQ(controller.counters().steps, kWorkers * kRounds);
  EXPECT_EQ(controller.counters().members, kWorkers * kRounds);
}

}  // namespace
}  // namespace huddle
