#include "huddle/api/process_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "huddle/base/error.h"

namespace huddle {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

ProcessPlace place_in(Variables variables, const TypedPlace& typed = {},
                      StoreNeed need = StoreNeed::needed) {
  return process_place(environment_of(std::move(variables)), typed, need);
}

std::string refusal_of(Variables variables, const TypedPlace& typed = {}) {
  try {
    place_in(std::move(variables), typed);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "was not refused";
}

// A launcher's variables and what a process takes from them.
struct Told {
  Variables variables;
  std::string by;
  std::string token;
};

const std::vector<Told>& all_told() {
  static const std::vector<Told> all{
      {{{"HUDDLE_RANK", "2"}, {"HUDDLE_WORKERS", "5"}}, "huddle launch", ""},
      {{{"RANK", "2"}, {"WORLD_SIZE", "5"}, {"TORCHELASTIC_RUN_ID", "job"}}, "torchrun", "/job"},
      {{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "5"}, {"PMIX_NAMESPACE", "77"}},
       "mpirun",
       "/77"},
      {{{"PMI_RANK", "2"}, {"PMI_SIZE", "5"}}, "mpiexec", ""},
      {{{"SLURM_PROCID", "2"},
        {"SLURM_NTASKS", "5"},
        {"SLURM_JOB_ID", "31"},
        {"SLURM_STEP_ID", "0"}},
       "srun",
       "/31/0"}};
  return all;
}

TEST(ProcessPlace, IsTakenFromEachLauncher) {
  for (const Told& told : all_told()) {
    const ProcessPlace place = place_in(told.variables, {}, StoreNeed::not_needed);
    EXPECT_EQ(place.rank, 2);
    EXPECT_EQ(place.workers, 5);
    EXPECT_EQ(place.told_by, told.by);
    EXPECT_EQ(place.token, told.token);
    EXPECT_FALSE(place.is_token_secret);
    EXPECT_FALSE(place.store);
    EXPECT_EQ(launcher_of(environment_of(told.variables)), told.by);
  }
  EXPECT_FALSE(launcher_of(environment_of({{"RANK", ""}})));
}

TEST(ProcessPlace, IsThatOfTheInnermostLauncher) {
  Variables all;
  for (std::size_t i = all_told().size(); i-- > 0;) {
    for (const auto& [name, value] : all_told()[i].variables) all[name] = value;
    EXPECT_EQ(place_in(all, {}, StoreNeed::not_needed).told_by, all_told()[i].by);
  }
}

TEST(ProcessPlace, IsWhatOptionsSayWhateverTheEnvironment) {
  const TypedPlace typed{.rank = 0, .workers = 3, .store = "node1:29400"};
  for (const Variables& variables :
       {Variables{},
        Variables{{"HUDDLE_RANK", "2"}, {"HUDDLE_WORKERS", "5"}, {"HUDDLE_STORE", "node9:1"}},
        Variables{{"RANK", "half of it"}}}) {
    const ProcessPlace place = place_in(variables, typed);
    EXPECT_EQ(place.rank, 0);
    EXPECT_EQ(place.workers, 3);
    EXPECT_EQ(place.store, (HostPort{"node1", 29400}));
    EXPECT_TRUE(place.hosts_store);
    EXPECT_EQ(place.token, "");
  }
  EXPECT_FALSE(place_in({}, {.rank = 2, .workers = 3, .store = "node1:29400"}).hosts_store);
}

TEST(ProcessPlace, LeavesTheStoreToWhoeverHostsOne) {
  Variables launched{
      {"HUDDLE_RANK", "0"}, {"HUDDLE_WORKERS", "2"}, {"HUDDLE_STORE", "127.0.0.1:29400"}};
  EXPECT_EQ(place_in(launched).store, (HostPort{"127.0.0.1", 29400}));
  EXPECT_FALSE(place_in(launched).hosts_store);
  EXPECT_TRUE(place_in(launched, {.store = "node1:29400"}).hosts_store);

  Variables torchrun{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(place_in(torchrun).store, (HostPort{"::1", 29500}));
  EXPECT_TRUE(place_in(torchrun).hosts_store);
  torchrun["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_FALSE(place_in(torchrun).hosts_store);

  Variables slurm{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"HUDDLE_STORE", "node1:29400"}};
  EXPECT_TRUE(place_in(slurm).hosts_store);
  slurm["SLURM_PROCID"] = "1";
  EXPECT_FALSE(place_in(slurm).hosts_store);
}

TEST(ProcessPlace, HasASecretTokenFromItsVariableAlone) {
  const std::string secret = "0123456789abcdef";
  for (const Told& told : all_told()) {
    Variables variables = told.variables;
    variables["HUDDLE_TOKEN"] = secret;
    const ProcessPlace place = place_in(variables, {}, StoreNeed::not_needed);
    EXPECT_TRUE(place.is_token_secret);
    EXPECT_EQ(place.token, secret + told.token);
  }
  const ProcessPlace typed = place_in({{"HUDDLE_TOKEN", secret}, {"SLURM_JOB_ID", "31"}},
                                      {.rank = 0, .workers = 1, .store = "node1:29400"});
  EXPECT_EQ(typed.token, secret);
  EXPECT_EQ(refusal_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"HUDDLE_TOKEN", "short"}},
                       {.store = "node1:1"}),
            "HUDDLE_TOKEN has 5 characters, which can be guessed; give it 16 or more, as `openssl "
            "rand -hex 16` prints them.");
}

TEST(ProcessPlace, TellsAttemptsOfTorchrunApart) {
  Variables variables{{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"TORCHELASTIC_RUN_ID", "job"},
                      {"TORCHELASTIC_RESTART_COUNT", "0"}};
  const std::string first = place_in(variables, {.store = "node1:1"}).token;
  variables["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(place_in(variables, {.store = "node1:1"}).token, first);
}

TEST(ProcessPlace, RefusesWhatIsIncomplete) {
  EXPECT_TRUE(refusal_of({}).starts_with("nothing tells this process which worker it is; "));
  for (const Told& told : all_told()) {
    for (const auto& [name, value] : told.variables) {
      if (value != "2" && value != "5") continue;  // The rank and the number of workers.
      const std::string refusal = refusal_of({{name, value}});
      EXPECT_TRUE(refusal.starts_with(name + " is set, but ")) << refusal;
      EXPECT_NE(refusal.find(told.by), std::string::npos) << refusal;
    }
    EXPECT_TRUE(refusal_of(told.variables).starts_with("nothing tells where the workers meet: "));
  }
  EXPECT_TRUE(refusal_of({}, {.rank = 1}).starts_with("--rank 1 says which worker this is, but "));
  const Variables slurm{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  Variables half = slurm;
  half["MASTER_PORT"] = "29500";
  EXPECT_TRUE(refusal_of(half).starts_with("MASTER_PORT is set, but MASTER_ADDR is not; "));
}

TEST(ProcessPlace, RefusesWhatIsContradictory) {
  const Variables four{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(refusal_of(four, {.workers = 8, .store = "node1:1"}),
            "--workers 8, but mpirun has started 4 (OMPI_COMM_WORLD_SIZE); leave --workers out.");
  EXPECT_EQ(place_in(four, {.workers = 4, .store = "node1:1"}).workers, 4);
  EXPECT_EQ(refusal_of({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}),
            "PMI_RANK is 4, but with PMI_SIZE 4 the workers are 0 to 3.");
  EXPECT_EQ(refusal_of({}, {.rank = 4, .workers = 4}),
            "--rank 4 is not one of 4 workers, which are 0 to 3.");
}

TEST(ProcessPlace, RefusesWhatIsNoNumberOrNoPlace) {
  for (const char* const text : {"-1", "x", "1.5", " 1", "99999999999"})
    EXPECT_TRUE(refusal_of({{"RANK", text}, {"WORLD_SIZE", "4"}})
                    .starts_with("RANK is '" + std::string(text) + "', not a whole number"));
  const Variables slurm{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  EXPECT_TRUE(
      refusal_of(slurm, {.store = "node1"}).starts_with("--store 'node1' is not HOST:PORT"));
  Variables bad = slurm;
  bad["HUDDLE_STORE"] = "node1:0";
  EXPECT_TRUE(refusal_of(bad).starts_with("HUDDLE_STORE 'node1:0' is not HOST:PORT"));
}

}  // namespace
}  // namespace huddle
