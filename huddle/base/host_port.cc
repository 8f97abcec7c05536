#include "huddle/base/host_port.h"

#include <algorithm>
#include <charconv>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr int kMostPort = 65535;

bool is_in_brackets(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']';
}

// Spaces and the like have no place in names of hosts, and a colon only within brackets.
bool is_host(std::string_view host) {
  const bool is_bare = std::ranges::all_of(host, [](char letter) {
    return letter > ' ' && letter < '\x7f' && letter != '[' && letter != ']' && letter != ':';
  });
  return !host.empty() && (is_bare || is_in_brackets(host));
}

}  // namespace

std::string text_of(const HostPort& place) {
  const bool is_ipv6 = place.host.find(':') != std::string::npos;
  return is_ipv6 ? concat('[', place.host, "]:", place.port) : concat(place.host, ':', place.port);
}

HostPort parse_host_port(std::string_view what, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon);
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  int port = 0;
  const auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_port = error == std::errc() && after == digits.data() + digits.size() &&
                       port >= 1 && port <= kMostPort;
  if (!is_host(host) || !is_port)
    throw UsageError(concat(what, " '", text,
                            "' is not HOST:PORT with a port from 1 to 65535; for example ", what,
                            " node1:29400."));
  return {std::string(is_in_brackets(host) ? host.substr(1, host.size() - 2) : host), port};
}

}  // namespace huddle
