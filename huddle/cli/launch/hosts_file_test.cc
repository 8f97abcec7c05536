#include "huddle/cli/launch/hosts_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "huddle/base/error.h"
#include "tests/support/scratch_folder.h"

namespace huddle {
namespace {

constexpr const char* kOwnName = "head.cluster";

class HostsFile : public testing::Test {
 protected:
  std::vector<LaunchHost> hosts_in(const std::string& text) {
    std::ofstream(file()) << text;
    return read_hosts(file(), kOwnName);
  }

  // With the file's path as FILE.
  std::string refusal_of(const std::string& text) {
    try {
      hosts_in(text);
    } catch (const UsageError& error) {
      std::string message = error.what();
      for (std::size_t at = 0; (at = message.find(file().string())) != std::string::npos;)
        message.replace(at, file().string().size(), "FILE");
      return message;
    }
    return "was not refused";
  }

  std::filesystem::path file() const { return folder_.path() / "hosts.txt"; }

 private:
  ScratchFolder folder_;
};

TEST_F(HostsFile, NamesHostsWithTheirSlots) {
  EXPECT_EQ(hosts_in("# two of them\n\n  node1   slots=4  # fast\nsomeone@node2\n"),
            (std::vector<LaunchHost>{{"node1", 4}, {"someone@node2", 1}}));
  EXPECT_EQ(hosts_in("node1 slots=1024"), (std::vector<LaunchHost>{{"node1", 1024}}));
}

TEST_F(HostsFile, KnowsThisMachine) {
  for (const char* const name : {"localhost", "127.0.0.1", "::1", "head.cluster", "head"})
    EXPECT_EQ(hosts_in(std::string(name) + " slots=2"), (std::vector<LaunchHost>{{kThisHost, 2}}));
  EXPECT_EQ(hosts_in("headless").front().name, "headless");
}

TEST_F(HostsFile, RefusesAllMistakesAtOnceWithTheirLines) {
  const std::string slots = " is not slots=N with N from 1 to 1024; write for example ";
  EXPECT_EQ(refusal_of("node1 slots=0\nnode2\nnode3 slots=x\nnode4 4\nnode5 slots=2 more\n"),
            "FILE:1: 'slots=0'" + slots + "node1 slots=4\nFILE:3: 'slots=x'" + slots +
                "node3 slots=4\nFILE:4: '4'" + slots + "node4 slots=4\nFILE:5: 'slots=2 more'" +
                slots + "node5 slots=4");
  EXPECT_EQ(refusal_of("a slots=1025"), "FILE:1: 'slots=1025'" + slots + "a slots=4");
  EXPECT_EQ(refusal_of("-oProxyCommand=x"), "FILE:1: '-oProxyCommand=x' is no name of a host.");
  EXPECT_EQ(refusal_of("node1\n\nnode1 slots=2\n"),
            "FILE:3: 'node1' is in line 1 already; give it all its slots there.");
  EXPECT_EQ(refusal_of("localhost\nhead\n"),
            "FILE:2: 'head' is in line 1 already; give it all its slots there.");
  EXPECT_EQ(refusal_of("# nobody\n"), "FILE names no host; write lines such as 'node1 slots=4'.");
}

TEST_F(HostsFile, RefusesAFileThatIsNotThere) {
  EXPECT_THROW(read_hosts(file(), kOwnName), UsageError);
}

TEST(PlaceWorkers, FillsHostsInTheirOrder) {
  const std::vector<LaunchHost> hosts{{"a", 2}, {"b", 1}, {"c", 4}};
  EXPECT_EQ(place_workers(hosts, 4, "x"), (std::vector<std::string>{"a", "a", "b", "c"}));
  EXPECT_EQ(place_workers(hosts, 7, "x").size(), 7u);
  try {
    place_workers(hosts, 8, "hosts.txt");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "hosts.txt has 7 slots, but -n 8 needs 8; add hosts, or say how many workers each "
              "takes: node1 slots=4.");
  }
}

}  // namespace
}  // namespace huddle
