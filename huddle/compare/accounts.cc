#include "huddle/compare/accounts.h"

#include <fmt/format.h>

#include <algorithm>

#include "huddle/record/time_parts.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

constexpr double kWorthSaying = 0.05;  // A smaller share of the time explains nothing.
constexpr double kStandsOut = 1.2;     // Whoever computes so many times as long as most is slow.
constexpr double kAboutAsLong = 0.8;
constexpr std::size_t kMostNamed = 3;

Seconds blocked(const TimeSplit& time) { return time.wait + time.exchange; }

// By worker, over all runs.
std::vector<TimeSplit> added_up(const std::vector<const RunOutcome*>& outcomes) {
  std::vector<TimeSplit> sums;
  for (const RunOutcome* outcome : outcomes) {
    if (sums.size() < outcome->time.size()) sums.resize(outcome->time.size());
    for (std::size_t worker = 0; worker < outcome->time.size(); ++worker)
      sums[worker] += outcome->time[worker];
  }
  return sums;
}

// The busiest link's share of the time with a message on it; nothing where links are not known.
std::optional<double> busiest(const std::vector<const RunOutcome*>& outcomes) {
  Seconds busy = 0;
  Seconds all = 0;
  for (const RunOutcome* outcome : outcomes) {
    if (outcome->links.empty() || !outcome->seconds) return {};
    busy += std::ranges::max(outcome->links, {}, &LinkUse::busy).busy;
    all += *outcome->seconds;
  }
  return all > 0 ? std::optional(busy / all) : std::nullopt;
}

bool take_the_same_steps(const std::vector<const RunOutcome*>& outcomes) {
  return std::ranges::all_of(outcomes, [](const RunOutcome* outcome) {
    const std::vector<double>& steps = outcome->steps_by_worker;
    return steps.size() == outcome->time.size() &&
           std::ranges::adjacent_find(steps, std::not_equal_to<>()) == steps.end();
  });
}

std::vector<std::size_t> slow_workers(const std::vector<TimeSplit>& times) {
  std::vector<Seconds> computing;
  for (const TimeSplit& time : times) computing.push_back(time.compute);
  const auto middle = computing.begin() + static_cast<std::ptrdiff_t>((computing.size() - 1) / 2);
  std::nth_element(computing.begin(), middle, computing.end());
  std::vector<std::size_t> slow;
  for (std::size_t worker = 0; worker < times.size(); ++worker)
    if (times[worker].compute > kStandsOut * *middle) slow.push_back(worker);
  return slow;
}

// While a link is busy the network may be what everybody waits for, so no more than the rest counts
// as lost to slow workers.
void tell_slow_workers(Account& account, const std::vector<TimeSplit>& times, Seconds all,
                       double busy) {
  const std::vector<std::size_t> slow = slow_workers(times);
  if (slow.empty()) return;
  const TimeSplit& slowest = *std::ranges::max_element(times, {}, &TimeSplit::compute);
  Seconds lost = 0;
  for (const TimeSplit& time : times) lost += std::max(0.0, blocked(time) - blocked(slowest));
  const double share = std::min(lost / all, 1 - busy);
  if (share < kWorthSaying) return;
  account.exchanging = std::max(0.0, account.exchanging + account.waiting - share);
  account.waiting = share;
  account.slowest = slow;
}

std::string whom(const Account& account) {
  if (account.slowest.empty()) return "others";
  if (account.slowest.size() > kMostNamed)
    return fmt::format("the {} slowest workers", account.slowest.size());
  std::vector<std::string> names;
  for (const std::size_t worker : account.slowest) names.push_back(std::to_string(worker));
  return (names.size() == 1 ? "worker " : "workers ") + listed(names);
}

}  // namespace

std::optional<Account> account_of(const std::vector<const RunOutcome*>& outcomes) {
  const std::vector<TimeSplit> times = added_up(outcomes);
  TimeSplit sum;
  for (const TimeSplit& time : times) sum += time;
  const Seconds all = sum.compute + blocked(sum);
  if (!(all > 0)) return {};
  Account account{.computing = sum.compute / all,
                  .waiting = sum.wait / all,
                  .slowest = {},
                  .exchanging = sum.exchange / all,
                  .hidden = sum.hidden / all};
  const std::optional<double> busy = busiest(outcomes);
  if (take_the_same_steps(outcomes)) tell_slow_workers(account, times, all, busy.value_or(0));
  account.fills_a_link = busy && *busy >= kAboutAsLong * account.exchanging;
  return account;
}

std::string account_text(const Account& account) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* verb, double share, const std::string& rest) {
    if (share >= kWorthSaying)
      parts.push_back(fmt::format("{} {}{}{}", verb, format_percent(share, 0),
                                  parts.empty() ? " of the time " : " ", rest));
  };
  add("waits", account.waiting, "for " + whom(account));
  add("spends", account.exchanging, account.fills_a_link ? "on the network" : "in exchanges");
  if (parts.empty())
    parts.push_back(fmt::format("computes {} of the time", format_percent(account.computing, 0)));
  add("hides", account.hidden, "behind computation");
  return listed(parts);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

}  // namespace huddle
