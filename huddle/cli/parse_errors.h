// What is wrong with a command line, in the words of this program: CLI11's own tell what its parser
// saw, not what to type instead.

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace huddle {

// `command` is the one whose parse threw `error`; subcommands are looked at, too. Ends with a full
// stop.
std::string explained(const CLI::App& command, const CLI::ParseError& error);

}  // namespace huddle
