#include "huddle/report/page/html_report_thinning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "huddle/base/text.h"
#include "huddle/record/time_parts.h"
#include "huddle/report/json_kinds.h"

namespace huddle {
namespace {

constexpr std::size_t kMostBars = 64;  // Of workers' times.
constexpr std::size_t kMostLinks = 4;  // Or sets of links that are loaded alike,
constexpr double kAlike = 0.01;        // within so much of the run's time.

double number_or_zero(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

double mean_over(const std::vector<Json>& list, const char* key) {
  double sum = 0;
  for (const Json& item : list) sum += number_or_zero(item[key]);
  return rounded(sum / static_cast<double>(list.size()));
}

// "16 links" for all there are; a single one by its name; else with the words that the names share,
// "8 rack links".
std::string name_of(const std::vector<std::string>& names, std::size_t all) {
  if (names.size() == 1) return names.front();
  std::string shared;
  std::istringstream words(names.front());
  for (std::string word; names.size() < all && words >> word;) {
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    const bool is_shared = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return (" " + name + " ").find(" " + word + " ") != std::string::npos;
    });
    if (!is_number && is_shared) shared += word + " ";
  }
  return fmt::format("{} {}links", names.size(), shared);
}

Json joined_link(const std::vector<Json>& links, std::size_t all) {
  std::vector<std::string> names;
  for (const Json& link : links) names.push_back(link["name"]);
  Json bar = links.front();
  for (const char* key : {"full", "bytes", "busy"}) bar[key] = mean_over(links, key);
  bar["name"] = name_of(names, all);
  bar["names"] = joined(names);
  bar["count"] = links.size();
  return bar;
}

}  // namespace

double rounded(double number) {
  return std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
}

void thin_times(Json& run) {
  Json time = std::exchange(run["time"], Json::array());
  const Json shares = run.value("share_by_worker", Json());
  const Json factors = run.value("rate_factor_by_worker", Json());
  for (const char* const list : {"share_by_worker", "rate_factor_by_worker"}) run.erase(list);
  const bool has_shares = shares.size() == time.size();
  for (std::size_t worker = 0; has_shares && worker < time.size(); ++worker) {
    time[worker]["share"] = shares[worker];
    time[worker]["heard"] = number_or_zero(shares[worker]) *
                            (worker < factors.size() ? number_or_zero(factors[worker]) : 1);
  }
  const std::size_t per_bar = (time.size() + kMostBars - 1) / kMostBars;
  for (std::size_t first = 0; first < time.size(); first += per_bar) {
    const std::size_t last = std::min(first + per_bar, time.size());
    Json bar = {{"worker", time[first]["worker"]}, {"last", time[last - 1]["worker"]}};
    const std::vector<Json> members(time.begin() + static_cast<std::ptrdiff_t>(first),
                                    time.begin() + static_cast<std::ptrdiff_t>(last));
    for (const auto& [name, part] : kTimeParts) bar[name] = mean_over(members, name);
    for (const char* const name : {"share", "heard"})
      if (has_shares) bar[name] = mean_over(members, name);
    run["time"].push_back(bar);
  }
}

void thin_links(Json& run) {
  std::vector<Json> links = run["links"];
  const std::size_t all = links.size();
  std::stable_sort(links.begin(), links.end(), [](const Json& a, const Json& b) {
    return number_or_zero(a["full"]) > number_or_zero(b["full"]);
  });
  const double alike = kAlike * number_or_zero(run["seconds"]);
  Json bars = Json::array();
  while (!links.empty() && bars.size() < kMostLinks) {
    const auto is_other = [&, first = links.front()](const Json& link) {
      return number_or_zero(first["full"]) - number_or_zero(link["full"]) > alike ||
             link["bytes_per_second"] != first["bytes_per_second"];
    };
    std::vector<Json> equal;
    std::remove_copy_if(links.begin(), links.end(), std::back_inserter(equal), is_other);
    std::erase_if(links, [&](const Json& link) { return !is_other(link); });
    bars.push_back(joined_link(equal, all));
  }
  run["links_left_out"] = links.size();
  run["links"] = std::move(bars);
}

void thin_curve(Json& run, std::size_t most_points) {
  const Json curve = std::exchange(run["curve"], Json::array());
  const std::size_t every = (curve.size() + most_points - 1) / most_points;
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (i % every == every - 1 || i + 1 == curve.size()) run["curve"].push_back(curve[i]);
  run["curve_every"] = std::max<std::size_t>(every, 1);
}

}  // namespace huddle
