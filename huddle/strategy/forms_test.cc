// What strategies do when nothing is said, and as published.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "huddle/strategy/registry.h"
#include "huddle/transport/threads/launcher.h"
#include "tests/support/descent.h"
#include "tests/support/refusal.h"

namespace huddle {
namespace {

StrategySetting setting_with(const std::optional<UpdateOptions>& update,
                             at::ScalarType type = at::kFloat) {
  StrategySetting setting{.update = update, .steps = 20, .type = type};
  setting.cluster.workers = 8;
  return setting;
}

const UpdateOptions kMomentum{.momentum = 0.9};

TEST(Forms, AverageMomentumInFewBytes) {
  const StrategySetting setting = setting_with(kMomentum);
  EXPECT_EQ(settled("sesgd", setting), "sesgd:slots=average,slots_wire=int8,wire=bf16");
  EXPECT_EQ(settled("ds_sync:schedule=grid", setting),
            "ds_sync:schedule=grid,slots=average,slots_wire=int8,wire=bf16");
}

TEST(Forms, KeepStateThatIsNoMomentumOrHidden) {
  const auto kept = "sesgd:slots=keep,slots_wire=same,wire=bf16";
  EXPECT_EQ(settled("sesgd", setting_with(UpdateOptions{.kind = UpdateOptions::Kind::adam})), kept);
  EXPECT_EQ(settled("sesgd", setting_with(UpdateOptions{.kind = UpdateOptions::Kind::adamw})),
            kept);
  EXPECT_EQ(settled("sesgd", setting_with(UpdateOptions{})), kept) << "without momentum";
  EXPECT_EQ(settled("sesgd", setting_with(std::nullopt)), kept) << "the user's own";
  const StrategySetting setting = setting_with(kMomentum);
  EXPECT_EQ(settled("sesgd:hide=step", setting),
            "sesgd:hide=step,slots=keep,slots_wire=same,wire=bf16");
  EXPECT_EQ(settled("sesgd:payload=gradient", setting),
            "sesgd:payload=gradient,slots=keep,slots_wire=same,wire=bf16");
  for (const StrategySetting& each :
       {setting, setting_with(UpdateOptions{.kind = UpdateOptions::Kind::adamw})})
    for (const char* spec : {"ds_sync", "sesgd:slots=average", "sesgd:hide=step"})
      EXPECT_NO_THROW(prepare_strategy(spec, each)) << spec;
}

TEST(Forms, RoundModelsOfFloat32Alone) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
    const StrategySetting setting = setting_with(kMomentum, type);
    EXPECT_EQ(settled("sesgd", setting), "sesgd:slots=average,slots_wire=same,wire=float");
  }
}

// What is rounded already is not rounded by name, and by default travels as it is.
TEST(Forms, LeaveModelsOfBfloat16AsTheyAre) {
  make_threads_launcher({})->run([](Endpoint& endpoint) {
    const auto zeros = [](std::int64_t size) { return at::zeros({size}, at::kBFloat16); };
    Replica replica(zeros(5), zeros(5), zeros(0), {5}, UpdateRule(kMomentum));
    Meter meter;
    const StrategyContext context{endpoint, replica, meter, {}};
    EXPECT_EQ(settled("sesgd", context), "sesgd:slots=average,slots_wire=same,wire=float");
    EXPECT_NO_THROW(make_strategy("sesgd", context));
    EXPECT_NO_THROW(make_strategy("sesgd:wire=int8,slots=keep,warmup=3", context));
  });
  for (const char* spec : {"sesgd:wire=bf16", "p_reduce:wire=bf16", "bsp:wire=bf16",
                           "ad_psgd:wire=bf16", "cocod:wire=bf16", "sesgd:wire=bf16,warmup=3"}) {
    const std::string refused =
        refusal([&] { prepare_strategy(spec, setting_with(kMomentum, at::kBFloat16)); });
    EXPECT_NE(refused.find("bfloat16 already; leave wire out"), std::string::npos) << refused;
  }
}

// What a run tells of itself can be typed for another one.
TEST(Forms, AreAcceptedAsTheyAreSettled) {
  for (const auto& update : {std::optional(kMomentum), std::optional(UpdateOptions{}),
                             std::optional(UpdateOptions{.kind = UpdateOptions::Kind::adamw}),
                             std::optional<UpdateOptions>()})
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16})
      for (const char* spec :
           {"sesgd", "sesgd:wire=float", "sesgd:hide=step", "sesgd:payload=gradient", "ds_sync",
            "ds_sync:form=paper", "random_groups", "p_reduce", "overlap_local_sgd"}) {
        const StrategySetting setting = setting_with(update, type);
        const std::string typed = settled(spec, setting);
        EXPECT_NO_THROW(prepare_strategy(typed, setting)) << typed;
        EXPECT_EQ(settled(typed, setting), typed);
      }
}

TEST(Forms, MatterWhereTheyAreNotNamed) {
  const StrategySetting setting = setting_with(kMomentum);
  for (const char* spec : {"sesgd", "ds_sync:radices=2x4", "sesgd:slots=keep", "p_reduce:group=4",
                           "overlap_local_sgd"})
    EXPECT_TRUE(depends_on_form(spec, setting)) << spec;
  for (const char* spec : {"bsp", "random_groups", "sesgd:form=paper", "ds_sync:form=ours",
                           "p_reduce:group=4,weights=constant"})
    EXPECT_FALSE(depends_on_form(spec, setting)) << spec;
}

TEST(Forms, FormGroupsThatDivideTheWorkers) {
  StrategySetting setting = setting_with(kMomentum);
  for (const auto& [workers, group] : {std::pair{2, 2},
                                       {3, 2},
                                       {4, 2},
                                       {5, 3},
                                       {6, 3},
                                       {8, 4},
                                       {10, 2},
                                       {12, 4},
                                       {15, 3},
                                       {32, 4}}) {
    setting.cluster.workers = workers;
    EXPECT_EQ(settled("p_reduce", setting), "p_reduce:group=" + std::to_string(group)) << workers;
    EXPECT_NO_THROW(prepare_strategy("p_reduce", setting)) << workers;
  }
  EXPECT_EQ(options_of("p_reduce", setting).text("weights"), "constant");
}

TEST(Forms, OfPapersAreWhatWasPublished) {
  for (const auto& setting : {setting_with(kMomentum), setting_with(std::nullopt)}) {
    for (const char* spec : {"sesgd:form=paper", "ds_sync:form=paper"}) {
      const Options options = options_of(spec, setting);
      EXPECT_EQ(options.text("slots"), "keep") << spec;
      EXPECT_EQ(options.text("wire"), "float") << spec;
      EXPECT_EQ(options.text("slots_wire"), "same") << spec;
    }
    const Options options = options_of("p_reduce:form=paper", setting);
    EXPECT_EQ(options.text("group"), "3");
    EXPECT_EQ(options.text("weights"), "dynamic");
    EXPECT_EQ(options_of("overlap_local_sgd:form=paper", setting).text("beta"), "0.7");
    EXPECT_EQ(options_of("overlap_local_sgd", setting).text("beta"), "0");
  }
  EXPECT_TRUE(same_bits(descend({.spec = "overlap_local_sgd:form=paper"}),
                        descend({.spec = "overlap_local_sgd:beta=0.7"})));
  for (const std::string name : {"sesgd", "ds_sync"}) {
    const Descended published = descend({.spec = name + ":form=paper"});
    EXPECT_TRUE(same_bits(published, descend({.spec = name + ":slots=keep,wire=float"}))) << name;
    EXPECT_FALSE(same_bits(published, descend({.spec = name}))) << name;
  }
}

TEST(Forms, YieldToKeysThatAreGiven) {
  const StrategySetting setting = setting_with(kMomentum);
  EXPECT_EQ(settled("sesgd:slots=reset", setting), "sesgd:slots=reset,slots_wire=same,wire=bf16");
  EXPECT_EQ(settled("sesgd:wire=float", setting), "sesgd:slots=average,slots_wire=int8,wire=float");
  EXPECT_EQ(settled("sesgd:form=paper,wire=int8", setting), "sesgd:form=paper,wire=int8");
  const Options options = options_of("sesgd:form=paper,slots=average,slots_wire=auto", setting);
  EXPECT_EQ(options.text("slots"), "average");
  EXPECT_EQ(options.text("slots_wire"), "int8");
  EXPECT_EQ(options.text("wire"), "float");
  EXPECT_EQ(options_of("p_reduce:form=paper,group=2", setting).integer("group"), 2);
  EXPECT_EQ(options_of("p_reduce:form=paper,group=auto", setting).integer("group"), 4);
  EXPECT_EQ(options_of("p_reduce:weights=dynamic", setting).text("weights"), "dynamic");
}

TEST(Forms, AreRefusedWhereThereIsNoSuch) {
  const auto refused = [](const char* spec) {
    return refusal([&] { prepare_strategy(spec, setting_with(kMomentum)); });
  };
  for (const char* spec : {"sesgd:form=best", "ds_sync:form=best", "p_reduce:form=best",
                           "overlap_local_sgd:form=best"})
    for (const char* part : {"form", "'best'", "ours, paper"})
      EXPECT_NE(refused(spec).find(part), std::string::npos) << refused(spec);
  EXPECT_NE(refused("random_groups:form=paper").find("'form'"), std::string::npos);
  EXPECT_NE(refused("p_reduce:group=any").find("from 2 to"), std::string::npos);
}

}  // namespace
}  // namespace huddle
