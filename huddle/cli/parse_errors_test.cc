#include "huddle/cli/parse_errors.h"

#include <gtest/gtest.h>

#include "huddle/cli/number_option.h"

namespace huddle {
namespace {

// What a small program says to a command line.
std::string answer(const std::string& line) {
  CLI::App program("", "huddle");
  program.require_subcommand(1);
  CLI::App* const train = program.add_subcommand("train");
  program.add_subcommand("compare");
  int workers = 4;
  int steps = 0;
  int epochs = 0;
  bool is_quiet = false;
  std::string folder;
  train->add_option("--workers", workers, "how many workers")->capture_default_str();
  CLI::Option* const other = train->add_option("--steps", steps, "of each");
  train->add_option("--epochs", epochs, "passes")->excludes(other);
  train->add_flag("--quiet", is_quiet, "no progress");
  train->add_option("DIR", folder, "where to write")->required();
  add_ranges(*train, {});
  try {
    program.parse(line);
  } catch (const CLI::ParseError& error) {
    return explained(program, error);
  }
  return "";
}

TEST(ParseErrors, AreToldInWordsOfTheProgram) {
  EXPECT_EQ(answer("train out --workers 8 --quiet"), "");
  EXPECT_EQ(answer(""), "say what to do: train, compare; for example huddle train --workers 8.");
  EXPECT_EQ(answer("trian"),
            "unknown command 'trian'; did you mean 'train'? Known: train, compare.");
  EXPECT_EQ(answer("--quite"), "unknown option --quite of huddle.");
  EXPECT_EQ(answer("train out --worker 3"),
            "unknown option --worker of huddle train; did you mean --workers?");
  EXPECT_EQ(answer("train out --worker=3"),
            "unknown option --worker of huddle train; did you mean --workers?");
  EXPECT_EQ(answer("train out extra"),
            "'extra' is not expected here: huddle train takes no such word.");
  EXPECT_EQ(answer("train"), "the DIR is missing: where to write.");
  EXPECT_EQ(answer("train out --workers"),
            "--workers needs a value: how many workers; for example --workers 4.");
  EXPECT_EQ(answer("train out --steps"), "--steps needs a value: of each.");
  EXPECT_EQ(answer("train out --steps 2 --steps 3"), "--steps is given 2 times; give it once.");
  EXPECT_EQ(answer("train out --quiet=5"), "--quiet takes no value; --quiet alone turns it on.");
  EXPECT_EQ(answer("train out --steps 2 --epochs 3"),
            "--steps does not go with --epochs; leave one of the two out.");
}

}  // namespace
}  // namespace huddle
