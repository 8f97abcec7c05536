// Strategies whose averages travel in narrow formats.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/strategy/registry.h"
#include "tests/support/descent.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

const std::vector<std::string> kNarrow = {
    "sesgd:wire=bf16",
    "sesgd:wire=int8",
    "sesgd:wire=int8,buckets=2",
    "sesgd:wire=int8,slots=average",
    "sesgd:wire=bf16,slots=average,slots_wire=int8",
    "sesgd:wire=int8,hide=step,slots=average",
    "ds_sync:wire=bf16,schedule=grid,radices=4",
    "ds_sync:wire=bf16,slots=average,slots_wire=int8,radices=4",
    "ds_sync:wire=bf16,hide=step,slots=average,slots_wire=int8,radices=4",
    "random_groups:group=3,wire=bf16,hide=step",
    "bsp:wire=bf16",
    "bsp:wire=int8",
    "local_sgd:tau=2,wire=bf16",
    "cocod:tau=2,wire=bf16",
    "overlap_local_sgd:tau=2,wire=bf16",
    "diloco:tau=3,wire=bf16",
};

// Every worker wants another number, so models differ and no number is round.
TEST(NarrowWires, LeadToTheSameModelAsFullOnes) {
  for (const std::string& spec : kNarrow) {
    const std::string full = spec.substr(0, spec.find(':')) + ":" + [&] {
      std::string keys;
      for (std::string rest = spec.substr(spec.find(':') + 1); !rest.empty();) {
        const std::string key = rest.substr(0, rest.find(','));
        rest = rest.find(',') == std::string::npos ? "" : rest.substr(rest.find(',') + 1);
        if (key.find("wire") == std::string::npos) keys += (keys.empty() ? "" : ",") + key;
      }
      return keys;
    }();
    const auto run = [](const std::string& name) {
      return descend({.spec = name.back() == ':' ? name.substr(0, name.size() - 1) : name,
                      .steps = 40,
                      .size = 5000,
                      .update = {.learning_rate = 0.05, .momentum = 0.5}});
    };
    const at::Tensor expected = mean_of(run(full).parameters);
    const at::Tensor mean = mean_of(run(spec).parameters);
    EXPECT_LT((mean - expected).abs().max().item<double>(), 0.01) << spec;
  }
}

// Whatever rounding takes from one worker's model stays in the run: a gradient that all workers
// have once, and that is far too small for bfloat16 beside the model, arrives.
TEST(NarrowWires, LoseNoSmallUpdates) {
  const auto small = [](int, int step, const at::Tensor& x) {
    return at::full_like(x, step == 0 ? 100. / 3 : 1e-4 / 3);
  };
  for (const char* spec : {"sesgd:wire=bf16", "sesgd:wire=int8", "sesgd:hide=step,wire=int8",
                           "ds_sync:wire=bf16,radices=4", "sesgd:hide=step,wire=bf16",
                           "ds_sync:hide=step,wire=bf16,radices=4", "local_sgd:tau=1,wire=bf16"}) {
    const Descended run =
        descend({.spec = spec, .steps = 201, .update = {.learning_rate = 1}, .gradient = small});
    const double moved = -(first_of(mean_of(run.parameters)) + 100. / 3);
    // What larger groups have not sent yet is at most half a step of the format, of the sum of 4.
    const std::string name = spec;
    const bool is_exact = name.starts_with("sesgd") || name.find("hide") != std::string::npos;
    EXPECT_NEAR(moved, 200e-4 / 3, is_exact ? 1e-9 : 0.13) << spec;
  }
}

TEST(NarrowWires, LeaveLargerGroupsAsOne) {
  const Descended run = descend({.spec = "sesgd:radix=16,wire=bf16", .workers = 16, .size = 500});
  EXPECT_LT(spread(run.parameters), 1e-12);
}

TEST(NarrowWires, GiveTheSameBitsInMemoryAndOverMessages) {
  for (const std::string& spec : kNarrow) {
    Descent descent{.spec = spec, .size = 9000};
    const Descended in_memory = descend(descent);
    descent.through = Descent::Through::messages;
    EXPECT_TRUE(same_bits(in_memory, descend(descent))) << spec;
  }
}

TEST(NarrowWires, GoOnFromACheckpointWithTheSameBits) {
  for (const std::string& spec : kNarrow) {
    const Descended whole = descend({.spec = spec, .size = 9000});
    for (const int after : {1, 6})
      EXPECT_TRUE(same_bits(whole, descend({.spec = spec, .size = 9000, .resume_after = after})))
          << spec << " after " << after;
  }
}

TEST(NarrowWires, SendAsManyBytesAsPromised) {
  const auto bytes = [](const std::string& spec) {
    const Descended run = descend({.spec = spec, .steps = 30, .size = 100'000, .statistics = 0});
    return static_cast<double>(run.traffic[0].bytes_sent);
  };
  const double bsp = bytes("bsp:overlap=none");  // Of 8 bytes a number.
  EXPECT_NEAR(bytes("bsp:overlap=none,wire=bf16") / bsp, 0.25, 0.001);
  EXPECT_NEAR(bytes("bsp:overlap=none,wire=int8") / bsp, 0.125, 0.01);
  const double pairs = bytes("sesgd:form=paper");
  EXPECT_NEAR(bytes("sesgd:slots=average,wire=bf16,slots_wire=int8") / pairs, 0.375, 0.01);
  EXPECT_LT(bytes("sesgd:slots=average,wire=int8") / pairs, 0.29);  // The first meetings: bfloat16.
}

TEST(NarrowWires, RefuseWhatTheyCannotCarry) {
  StrategySetting setting;
  setting.cluster.workers = 9;
  setting.steps = 20;
  setting.update->momentum = 0.9;
  const auto refused = [&](const char* spec) {
    return refusal([&] { prepare_strategy(spec, setting); });
  };
  EXPECT_NE(refused("ds_sync:wire=int8").find("groups of 3"), std::string::npos);
  EXPECT_NE(refused("sesgd:wire=int8,global_every=4").find("groups of 9"), std::string::npos);
  EXPECT_NE(refused("random_groups:group=3,wire=int8").find("wire=bf16"), std::string::npos);
  EXPECT_NE(refused("p_reduce:group=3,wire=int8").find("group=2"), std::string::npos);
  EXPECT_NE(refused("sesgd:slots=keep,slots_wire=int8").find("slots=average"), std::string::npos);
  EXPECT_NE(refused("sesgd:hide=step,slots_wire=int8").find("slots=average"), std::string::npos);
  EXPECT_NE(refused("sesgd:payload=gradient,wire=int8").find("wire=bf16"), std::string::npos);
  EXPECT_NE(refused("local_sgd:wire=int8").find("bf16"), std::string::npos);
}

// Rounded to nothing, second moments let Adam's steps grow without bound: in pairs, too.
TEST(NarrowWires, TakeNoSecondMomentsAsInt8) {
  StrategySetting setting;
  setting.cluster.workers = 8;
  for (const auto kind : {UpdateOptions::Kind::adam, UpdateOptions::Kind::adamw}) {
    setting.update->kind = kind;
    for (const char* spec :
         {"sesgd:slots=average,slots_wire=int8", "sesgd:slots=average,wire=int8",
          "sesgd:slots=average,slots_wire=same,wire=int8", "ds_sync:slots=average,slots_wire=int8",
          "random_groups:group=2,slots=average,wire=int8",
          "local_sgd:slots=average,slots_wire=int8"}) {
      const std::string refused = refusal([&] { prepare_strategy(spec, setting); });
      for (const char* part : {"second moments", "use slots_wire=bf16"})
        EXPECT_NE(refused.find(part), std::string::npos) << spec << ": " << refused;
    }
    EXPECT_NO_THROW(prepare_strategy("sesgd:slots=average,slots_wire=bf16,wire=int8", setting));
    EXPECT_NO_THROW(prepare_strategy("sesgd:wire=int8", setting)) << "they do not travel";
  }
}

}  // namespace
}  // namespace huddle
