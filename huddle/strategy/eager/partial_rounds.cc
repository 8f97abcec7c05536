#include "huddle/strategy/eager/partial_rounds.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "huddle/replica/averages_in_flight.h"
#include "huddle/strategy/lanes.h"

namespace huddle {
namespace {

constexpr std::int64_t kFinished = 0;  // All that a program tells its worker has one number.

}  // namespace

PartialRounds::PartialRounds(Endpoint& endpoint, const How& how)
    : endpoint_(endpoint),
      how_(how),
      service_(endpoint, {.home = endpoint.self(),
                          .lane = kPartialRoundLane,
                          .deadline = how.averaging.deadline,
                          .without = [](WorkerId) {
                            return "eager averages among all workers, so the run cannot go on: "
                                   "start again";
                          }}) {}

void PartialRounds::start(const at::Tensor& like) {
  leaving_.assign(static_cast<std::size_t>(endpoint_.workers()), false);
  contribution_ = at::empty_like(like);
  shared_.sum = at::zeros_like(like);
  service_.start([this](Endpoint& beside) { serve(beside); });
}

void PartialRounds::contribute(const at::Tensor& gradients) {
  endpoint_.exclusive([&] {
    shared_.sum.add_(gradients);
    ++shared_.gradients;
  });
}

void PartialRounds::leave() {
  endpoint_.exclusive([&] { shared_.leaves = true; });
}

std::vector<PartialRound> PartialRounds::take(double learning_rate) {
  bool is_late = false;
  endpoint_.exclusive([&] { is_late = !shared_.finished.empty(); });
  if (!is_late) begin_round_if_due(learning_rate);
  hear_of_a_round();
  std::vector<PartialRound> rounds;
  endpoint_.exclusive([&] {
    std::move(shared_.finished.begin(), shared_.finished.end(), std::back_inserter(rounds));
    leaving_ = shared_.leaving.back();
    shared_.finished.clear();
    shared_.leaving.clear();
  });
  for (std::size_t i = 1; i < rounds.size(); ++i) hear_of_a_round();
  taken_ += static_cast<std::int64_t>(rounds.size());
  return rounds;
}

// The program says when a round has finished, once for each.
void PartialRounds::hear_of_a_round() {
  const at::Tensor finished = room_for(size_of<Finished>());
  Pending heard =
      endpoint_.receive(endpoint_.self(), reply_tag(kPartialRoundLane, kFinished), finished);
  service_.wait(heard);
}

void PartialRounds::begin_round_if_due(double learning_rate) {
  if (!may_begin()) return;
  endpoint_.exclusive([&] {
    shared_.begun = taken_;
    shared_.learning_rate = learning_rate;
  });
  // A send that nobody waits for goes on by itself: whoever began the round already ignores it.
  for (int worker = 0; worker < endpoint_.workers(); ++worker)
    send_request(endpoint_, WorkerId{worker}, kPartialRoundLane, Begin{}, taken_);
}

// Those of whom everybody knows that they leave begin no rounds, or rounds without gradients would
// follow one another for as long as somebody computes.
bool PartialRounds::may_begin() const {
  const auto self = static_cast<std::size_t>(endpoint_.self().value);
  if (how_.mode == Mode::solo) return !leaving_[self];
  std::vector<std::size_t> candidates;
  for (std::size_t worker = 0; worker < leaving_.size(); ++worker)
    if (!leaving_[worker]) candidates.push_back(worker);
  Random random(how_.seed, {static_cast<std::uint64_t>(taken_)});
  return !candidates.empty() && candidates[random.below(candidates.size())] == self;
}

void PartialRounds::serve(Endpoint& endpoint) {
  Requests<Begin> requests(endpoint, kPartialRoundLane);
  Averager averager(how_.averaging, kPartialRoundLane);
  bool is_last = false;
  for (std::int64_t round = 0; !is_last; ++round) {
    // Several may have begun a round that has finished since.
    while (requests.next().number < round) continue;
    is_last = run_round(endpoint, round, averager).is_last;
    requests.reply(endpoint.self(), kFinished, Finished{round});
  }
}

PartialRound PartialRounds::run_round(Endpoint& endpoint, std::int64_t round, Averager& averager) {
  const int workers = endpoint.workers();
  const Group everyone = Group::everyone(workers);
  // Who leaves, and with which rate those who began the round did; last, how many gradients. They
  // are added up, not averaged, so that a rate arrives with the bits that it had.
  at::Tensor news = at::zeros({2 * workers + 1}, at::kDouble);
  const std::vector<double> added_up(static_cast<std::size_t>(workers), 1.0);
  double* const leaves = news.mutable_data_ptr<double>();
  double* const rates = leaves + workers;
  double& gradients = rates[workers];
  const int self = endpoint.self().value;
  endpoint.exclusive([&] {
    contribution_.copy_(shared_.sum);
    shared_.sum.zero_();
    gradients = static_cast<double>(std::exchange(shared_.gradients, 0));
    leaves[self] = shared_.leaves ? 1 : 0;
    rates[self] = shared_.begun == round ? shared_.learning_rate : 0;
  });
  const auto sequence = static_cast<std::uint32_t>(2 * round);
  PartialRound result;
  result.exchange = averager.average(endpoint, everyone, contribution_, Sequence{sequence});
  append(result.exchange,
         averager.average(endpoint, everyone, news, Sequence{sequence + 1}, added_up));
  std::vector<bool> leaving;
  for (int worker = 0; worker < workers; ++worker) leaving.push_back(leaves[worker] > 0);
  result.mean = contribution_.clone();
  result.gradients = std::llround(gradients);
  result.learning_rate = *std::max_element(rates, rates + workers);
  result.is_last = std::find(leaving.begin(), leaving.end(), false) == leaving.end();
  endpoint.exclusive([&] {
    shared_.finished.push_back(result);
    shared_.leaving.push_back(leaving);
  });
  return result;
}

}  // namespace huddle
