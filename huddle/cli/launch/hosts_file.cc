#include "huddle/cli/launch/hosts_file.h"

#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kMostSlots = 1024;

bool is_this_host(const std::string& name, const std::string& own_name) {
  const std::string short_name = own_name.substr(0, own_name.find('.'));
  return name == kThisHost || name == "127.0.0.1" || name == "::1" || name == own_name ||
         name == short_name;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::optional<int> slots_in(std::string_view word) {
  constexpr std::string_view kSlots = "slots=";
  if (!word.starts_with(kSlots)) return {};
  word.remove_prefix(kSlots.size());
  int slots = 0;
  const auto [after, error] = std::from_chars(word.data(), word.data() + word.size(), slots);
  const bool is_number = error == std::errc() && after == word.data() + word.size();
  return is_number && slots >= 1 && slots <= kMostSlots ? std::optional(slots) : std::nullopt;
}

// What is wrong with a line that has words; empty: nothing, and `host` is what it says.
std::string mistake_in(const std::vector<std::string>& words, LaunchHost& host) {
  host.name = words.front();
  if (host.name.starts_with('-'))  // ssh would take it for an option.
    return concat("'", host.name, "' is no name of a host.");
  if (words.size() == 1) return "";
  const std::optional<int> slots = slots_in(words[1]);
  if (words.size() > 2 || !slots)
    return concat("'", joined(std::vector(words.begin() + 1, words.end()), " "),
                  "' is not slots=N with N from 1 to ", kMostSlots, "; write for example ",
                  host.name, " slots=4");
  host.slots = *slots;
  return "";
}

}  // namespace

std::vector<LaunchHost> read_hosts(const std::filesystem::path& file, const std::string& own_name) {
  std::vector<LaunchHost> hosts;
  std::vector<std::string> mistakes;
  std::map<std::string, int> line_of;
  std::istringstream text(
      read_file(file, kMostTextBytes, "--hosts takes a file with lines such as 'node1 slots=4'"));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    LaunchHost host;
    std::string mistake = mistake_in(words, host);
    if (is_this_host(host.name, own_name)) host.name = kThisHost;
    const auto [first, is_new] = line_of.emplace(host.name, number);
    if (mistake.empty() && !is_new)
      mistake = concat("'", words.front(), "' is in line ", first->second,
                       " already; give it all its slots there.");
    if (!mistake.empty()) mistakes.push_back(concat(file.string(), ":", number, ": ", mistake));
    hosts.push_back(std::move(host));
  }
  if (!mistakes.empty()) throw UsageError(joined(mistakes, "\n"));
  if (hosts.empty())
    throw UsageError(concat(file.string(), " names no host; write lines such as 'node1 slots=4'."));
  return hosts;
}

std::vector<std::string> place_workers(const std::vector<LaunchHost>& hosts, int workers,
                                       const std::string& what) {
  std::vector<std::string> places;
  int slots = 0;
  for (const LaunchHost& host : hosts) {
    slots += host.slots;
    for (int i = 0; i < host.slots && static_cast<int>(places.size()) < workers; ++i)
      places.push_back(host.name);
  }
  if (slots < workers)
    throw UsageError(concat(what, " has ", slots, slots == 1 ? " slot" : " slots", ", but -n ",
                            workers, " needs ", workers,
                            "; add hosts, or say how many workers each takes: node1 slots=4."));
  return places;
}

}  // namespace huddle
