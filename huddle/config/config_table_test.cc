#include "huddle/config/config_table.h"

#include <gtest/gtest.h>

namespace huddle {
namespace {

ConfigTable parsed(const std::string& text) { return parse_toml(text, "test"); }

std::string round_trip(const std::string& text) { return to_toml(parsed(text)); }

TEST(ConfigTable, IsWrittenSoThatItReadsBackTheSame) {
  const std::string text = R"(
name = "a \"quoted\" \\ name\u0001"
workers = 8
share = 0.1
tiny = 1e-300
on = true
racks = [0, 1]
[network]
nic = "10Gbps"
[network.deep]
"odd key" = "x"
[[slow]]
worker = 3
[[slow]]
worker = 4
)";
  const std::string written = round_trip(text);
  EXPECT_EQ(round_trip(written), written);
  const ConfigTable table = parsed(written);
  EXPECT_EQ(as_word(find_entry(table, "name")->value), "a \"quoted\" \\ name\x01");
  EXPECT_EQ(as_word(find_entry(table, "tiny")->value), "1e-300");
  EXPECT_EQ(as_tables(find_entry(table, "slow")->value)->size(), 2u);
  EXPECT_EQ(written, round_trip(text)) << "equal tables, equal text";
}

TEST(ConfigTable, OverlayJoinsTablesAndReplacesTheRest) {
  const ConfigTable base = parsed(
      "workers = 4\n[network]\nnic = \"1Gbps\"\nlatency = \"1ms\"\n[[slow]]\nworker = 0\nfactor = "
      "2\n");
  const ConfigTable over =
      parsed("[network]\nlatency = \"5ms\"\n[[slow]]\nworker = 1\nfactor = 3\n");
  EXPECT_EQ(
      to_toml(overlaid(base, over)),
      round_trip("workers = 4\n[network]\nnic = \"1Gbps\"\nlatency = \"5ms\"\n[[slow]]\nworker "
                 "= 1\nfactor = 3\n"));
  EXPECT_EQ(to_toml(overlaid({}, over)), to_toml(over));
  EXPECT_EQ(to_toml(overlaid(base, {})), to_toml(base));
}

TEST(ConfigTable, OverlayKeepsTheLineOfWhateverWon) {
  const ConfigTable joined = overlaid(parsed("\n[network]\nnic = \"1Gbps\"\n"),
                                      parsed("\n\n\n\n[network]\nlatency = \"5ms\"\n"));
  const auto& network = std::get<ConfigTable>(find_entry(joined, "network")->value.value);
  EXPECT_EQ(find_entry(network, "nic")->line, 3);
  EXPECT_EQ(find_entry(network, "latency")->line, 6);
}

TEST(ConfigTable, AValueIsPutAtAPath) {
  ConfigTable table = parsed("[network]\nnic = \"1Gbps\"\n");
  set_at(table, "network.latency", {.line = 7, .value = std::string("1ms")});
  set_at(table, "compute.step", {.line = 8, .value = std::string("35ms")});
  set_at(table, "workers", {.line = 9, .value = std::int64_t{4}});
  EXPECT_EQ(to_toml(table),
            "workers = 4\n\n[network]\nnic = \"1Gbps\"\nlatency = \"1ms\"\n\n[compute]\nstep = "
            "\"35ms\"\n");
}

TEST(ConfigTable, AWholeTableMayStandForOneLine) {
  const ConfigTable table = at_line(parsed("a = 1\n[b]\nc = [1,\n 2]\n"), 40);
  const ConfigEntry& inner = *find_entry(std::get<ConfigTable>(table[1].value.value), "c");
  EXPECT_EQ(table[0].line, 40);
  EXPECT_EQ(inner.line, 40);
  EXPECT_EQ(std::get<std::vector<ConfigValue>>(inner.value.value)[1].line, 40);
}

}  // namespace
}  // namespace huddle
