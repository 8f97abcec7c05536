#include "huddle/base/host_port.h"

#include <gtest/gtest.h>

#include "huddle/base/error.h"

namespace huddle {
namespace {

TEST(HostPort, IsReadAndWrittenAlike) {
  for (const char* const text : {"node7:29400", "127.0.0.1:1", "[::1]:65535", "[fe80::1%eth0]:80"})
    EXPECT_EQ(text_of(parse_host_port("--store", text)), text);
  EXPECT_EQ(parse_host_port("--store", "[::1]:5"), (HostPort{"::1", 5}));
  EXPECT_EQ(parse_host_port("--store", "node7:29400"), (HostPort{"node7", 29400}));
}

TEST(HostPort, RefusesAnythingElseWithAnExample) {
  for (const char* const text :
       {"", ":", "node7", "node7:", ":29400", "node7:0", "node7:65536", "node7:-1", "node7:+1",
        "node7:80x", "node 7:80", "::1:80", "[]:80", "[::1:80", "node7:99999999999999999999"}) {
    try {
      parse_host_port("--store", text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "--store '" + std::string(text) +
                    "' is not HOST:PORT with a port from 1 to 65535; for example --store "
                    "node1:29400.");
    }
  }
}

}  // namespace
}  // namespace huddle
