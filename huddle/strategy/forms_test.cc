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
    const std::string refused = refusal([&] { make_strategy("sesgd:wire=bf16", context); });
    EXPECT_NE(refused.find("bfloat16 already; leave wire out"), std::string::npos) << refused;
  });
}

TEST(Forms, FormGroupsThatDivideTheWorkers) {
  StrategySetting setting = setting_with(kMomentum);
  for (const auto& [workers, group] : {std::pair{2, 2},
                                       {3, 3},
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
