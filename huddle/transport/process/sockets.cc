#include "huddle/transport/process/sockets.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

#include "huddle/base/error.h"
#include "huddle/base/steady_seconds.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr Seconds kRetrySeconds = 0.05;

// The addresses that a name stands for, in the order in which the system would try them.
class Addresses {
 public:
  Addresses(const HostPort& place, int kind) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICSERV;
    wanted.ai_socktype = kind;
    const int status =
        getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &wanted, &first_);
    if (status != 0) problem_ = gai_strerror(status);
  }
  ~Addresses() {
    if (first_ != nullptr) freeaddrinfo(first_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  const addrinfo* first() const { return first_; }
  const std::string& problem() const { return problem_; }

 private:
  addrinfo* first_ = nullptr;
  std::string problem_;
};

int open_socket(const addrinfo& address) {
  return socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// How this end of a socket is called.
struct OwnName {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
};

OwnName own_name(int number) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  OwnName name;
  const bool is_known =
      getsockname(number, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, name.host.data(), name.host.size(),
                  name.port.data(), name.port.size(), NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  check(is_known, "a socket that is bound or connected has an address");
  return name;
}

// What connect() came to, for a socket that does not block. 0: well.
int outcome_of_connecting(int number, Seconds patience) {
  pollfd ready{.fd = number, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, static_cast<int>(std::ceil(patience * 1000))) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// 0: somebody accepts connections at this address; else the error number.
int try_to_connect(const addrinfo& address, Seconds patience) {
  const int number = open_socket(address);
  if (number < 0) return errno;
  int error = connect(number, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = outcome_of_connecting(number, patience);
  close(number);
  return error;
}

}  // namespace

ListeningSocket::ListeningSocket(const HostPort& place) {
  const auto refuse = [&](const std::string& reason) {
    if (number_ >= 0) close(number_);
    throw UsageError(concat("cannot listen at ", text_of(place), ": ", reason,
                            "; name an address of this machine and a port that is free."));
  };
  const Addresses addresses(place, SOCK_STREAM);
  if (addresses.first() == nullptr) refuse(addresses.problem());
  const addrinfo& address = *addresses.first();
  number_ = open_socket(address);
  const int yes = 1;  // Or the port of a job could not be used again for a minute after it.
  setsockopt(number_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(number_, address.ai_addr, address.ai_addrlen) != 0 || listen(number_, SOMAXCONN) != 0)
    refuse(system_message(errno));
}

ListeningSocket::~ListeningSocket() {
  if (number_ >= 0) close(number_);
}

int ListeningSocket::port() const { return std::stoi(own_name(number_).port.data()); }

std::string await_listener(const HostPort& place, Seconds patience) {
  const Seconds end = steady_seconds() + patience;
  while (true) {
    const Addresses addresses(place, SOCK_STREAM);
    std::string problem = addresses.problem();
    for (const addrinfo* each = addresses.first(); each != nullptr; each = each->ai_next) {
      const int error = try_to_connect(*each, std::max(kRetrySeconds, end - steady_seconds()));
      if (error == 0) return "";
      problem = system_message(error);
    }
    if (steady_seconds() >= end) return problem;
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(kRetrySeconds));
  }
}

std::string address_towards(const std::string& host) {
  const int any_port = 9;
  const Addresses addresses({host, any_port}, SOCK_DGRAM);
  std::string problem = addresses.problem();
  for (const addrinfo* each = addresses.first(); each != nullptr; each = each->ai_next) {
    const int number = open_socket(*each);
    // Of a socket for datagrams this only asks which way they would go.
    const bool has_way = connect(number, each->ai_addr, each->ai_addrlen) == 0;
    problem = system_message(errno);
    const std::string own = has_way ? own_name(number).host.data() : "";
    close(number);
    if (has_way) return own;
  }
  throw UsageError(concat("cannot tell which address of this machine leads to '", host,
                          "': ", problem, "; name one with --store-address."));
}

}  // namespace huddle
