#include "huddle/cli/bench/collectives_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "huddle/base/text.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 340;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 15;
constexpr double kBottom = 40;
constexpr std::array kColours{"#1f6fb4", "#8a8a8a", "#d1600d", "#2b8a3e", "#8e44ad", "#b03060"};

// Both axes are logarithmic: times and sizes span five orders of magnitude.
class Axes {
 public:
  explicit Axes(std::span<const CollectiveTime> times) {
    for (const CollectiveTime& time : times) {
      x_low_ = std::min(x_low_, std::log10(static_cast<double>(time.bytes)));
      x_high_ = std::max(x_high_, std::log10(static_cast<double>(time.bytes)));
      y_low_ = std::min(y_low_, std::floor(std::log10(time.median)));
      y_high_ = std::max(y_high_, std::ceil(std::log10(time.median)));
    }
    if (x_high_ <= x_low_) x_high_ = x_low_ + 1;
    if (y_high_ <= y_low_) y_high_ = y_low_ + 1;
  }

  double x(double bytes) const {
    return kLeft + (std::log10(bytes) - x_low_) / (x_high_ - x_low_) * (kWidth - kLeft - kRight);
  }
  double y(double seconds) const {
    return kHeight - kBottom -
           (std::log10(seconds) - y_low_) / (y_high_ - y_low_) * (kHeight - kTop - kBottom);
  }

  std::string decades() const {
    std::string lines;
    for (int power = static_cast<int>(y_low_); power <= static_cast<int>(y_high_); ++power) {
      const double seconds = std::pow(10.0, power);
      lines += fmt::format(
          "<line class=grid x1={0} x2={1} y1={2:.1f} y2={2:.1f} /><text class=right x={3} "
          "y={4:.1f}>{5}</text>\n",
          kLeft, kWidth - kRight, y(seconds), kLeft - 6, y(seconds) + 4, format_seconds(seconds));
    }
    return lines;
  }

 private:
  double x_low_ = 1e9;
  double x_high_ = -1e9;
  double y_low_ = 1e9;
  double y_high_ = -1e9;
};

std::vector<std::string> ways_in(std::span<const CollectiveTime> times) {
  std::vector<std::string> ways;
  for (const CollectiveTime& time : times)
    if (!is_among(ways, time.contender)) ways.push_back(time.contender);
  return ways;
}

std::string chart(std::span<const CollectiveTime> times) {
  const Axes axes(times);
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {} {}' role=img aria-label='time of an average by its size'>\n{}", kWidth,
      kHeight, axes.decades());
  const std::vector<std::string> ways = ways_in(times);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const char* const colour = kColours[i % kColours.size()];
    std::string points;
    for (const CollectiveTime& time : times) {
      if (time.contender != ways[i]) continue;
      const double x = axes.x(static_cast<double>(time.bytes));
      points += fmt::format("{:.1f},{:.1f} ", x, axes.y(time.median));
      svg += fmt::format(
          "<line stroke='{0}' x1={1:.1f} x2={1:.1f} y1={2:.1f} y2={3:.1f} />"
          "<circle fill='{0}' cx={1:.1f} cy={4:.1f} r=3><title>{5}, {6}: {7}</title></circle>\n",
          colour, x, axes.y(time.low), axes.y(time.high), axes.y(time.median), time.contender,
          format_bytes(static_cast<double>(time.bytes)), format_seconds(time.median));
      if (i == 0)
        svg += fmt::format("<text class=middle x={:.1f} y={}>{}</text>\n", x, kHeight - 18,
                           format_bytes(static_cast<double>(time.bytes)));
    }
    svg += fmt::format("<polyline fill=none stroke='{}' stroke-width={} points='{}' />\n", colour,
                       ways[i] == kHuddle ? 3 : 1.5, points);
  }
  svg += "</svg>\n<p class=legend>";
  for (std::size_t i = 0; i < ways.size(); ++i)
    svg += fmt::format("<span style='color:{}'>&#9632; {}</span> ", kColours[i % kColours.size()],
                       ways[i]);
  return svg + "</p>\n";
}

}  // namespace

std::string collectives_page(std::string_view heading, const std::vector<CollectiveTime>& times) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><title>Averages in changing groups"
      "</title>\n<style>body{{font:15px system-ui,sans-serif;max-width:720px;margin:2em auto;"
      "padding:0 1em}}svg{{width:100%}}text{{font-size:11px;fill:#555}}.right{{text-anchor:end}}"
      ".middle{{text-anchor:middle}}.grid{{stroke:#ddd}}.legend span{{margin-right:1em}}</style>\n"
      "<h1>Averages in changing groups</h1>\n<p>{} Bars: 80 % of the samples.</p>\n",
      heading);
  for (auto begin = times.begin(); begin != times.end();) {
    const auto end = std::find_if(
        begin, times.end(), [&](const CollectiveTime& time) { return time.group != begin->group; });
    page += fmt::format("<h2>Groups of {}</h2>\n{}", begin->group, chart({begin, end}));
    begin = end;
  }
  return page;
}

}  // namespace huddle
