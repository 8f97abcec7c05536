// What a document says that a file holds.

#pragma once

#include <set>
#include <string>

#include "huddle/base/read_file.h"

namespace huddle {

// The words `in backticks` of docs/NAME from the first `from` on up to the next `to`.
inline std::set<std::string> documented_keys(const std::string& name, const std::string& from,
                                             const std::string& to) {
  std::string text = read_file("docs/" + name, kMostTextBytes);
  text.erase(0, text.find(from) + from.size());
  text.resize(std::min(text.find(to), text.size()));
  std::set<std::string> keys;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    keys.insert(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return keys;
}

}  // namespace huddle
