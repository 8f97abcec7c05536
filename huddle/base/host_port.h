// Where something listens: "node7:29400", "127.0.0.1:29400", "[::1]:29400".

#pragma once

#include <string>
#include <string_view>

namespace huddle {

struct HostPort {
  std::string host;  // A name or an address, without brackets.
  int port = 0;      // From 1 to 65535.

  bool operator==(const HostPort&) const = default;
};

// As people write it.
std::string text_of(const HostPort& place);

// `what` names the value in errors ("--store"). Throws UsageError for anything but HOST:PORT.
HostPort parse_host_port(std::string_view what, std::string_view text);

}  // namespace huddle
