#include "huddle/cli/parse_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "huddle/base/text.h"

namespace huddle {
namespace {

std::vector<std::string> names_of(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options)
    if (!option->get_positional()) names.push_back(option->get_name());
  return names;
}

std::vector<std::string> names_of_commands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

// "huddle train".
std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : concat(parent->get_name(), " ", command.get_name());
}

// The option that CLI11's message begins with, with or without its dashes; null where there is
// none.
const CLI::Option* option_in(const CLI::App& command, const std::string& message) {
  const std::string word = message.substr(0, message.find_first_of(" :"));
  for (const CLI::Option* option : command.get_options())
    if (word == option->get_name() || word == option->get_single_name()) return option;
  return nullptr;
}

// An option that nobody knows says more than what follows it.
std::string first_unknown(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
  if (option != words.end()) return option->substr(0, option->find('='));
  return words.empty() ? "" : words.front();
}

std::string explained_extras(const CLI::App& command) {
  const std::string word = first_unknown(command);
  if (!word.starts_with('-'))
    return fmt::format("'{}' is not expected here: {} takes no such word.", word,
                       full_name(command));
  const std::string near = nearest(word, names_of(command.get_options()));
  if (!near.empty())
    return fmt::format("unknown option {} of {}; did you mean {}?", word, full_name(command), near);
  // Of a command that runs another one, to which the option may belong.
  const bool runs_another = command.get_option_no_throw("COMMAND") != nullptr;
  return fmt::format("unknown option {} of {}{}.", word, full_name(command),
                     runs_another ? "; what it is to run stands after --, with its options" : "");
}

std::string explained_missing(const CLI::App& command, const std::string& message) {
  if (const CLI::Option* option = option_in(command, message))
    return fmt::format("the {} is missing: {}.", option->get_name(true), option->get_description());
  const std::string word = first_unknown(command);
  const std::vector<std::string> commands = names_of_commands(command);
  if (word.empty())
    return fmt::format("say what to do: {}; for example huddle train --workers 8.",
                       joined(commands));
  return word.starts_with('-') ? explained_extras(command)
                               : unknown_value("command", word, commands);
}

std::string explained_count(const CLI::App& command, const std::string& message) {
  const CLI::Option* const option = option_in(command, message);
  if (option == nullptr) return message + ".";
  const std::string name = option->get_name();
  if (message.find("override") != std::string::npos)
    return fmt::format("{} takes no value; {} alone turns it on.", name, name);
  if (message.find("At Most") != std::string::npos)
    return fmt::format("{} is given {} times; give it once.", name, option->count());
  const std::string usual = option->get_default_str();
  return fmt::format("{} needs a value: {}{}.", name, option->get_description(),
                     usual.empty() ? "" : fmt::format("; for example {} {}", name, usual));
}

std::string explained_exclusion(const std::string& message) {
  constexpr std::string_view kExcludes = " excludes ";
  const std::size_t place = message.find(kExcludes);
  return fmt::format("{} does not go with {}; leave one of the two out.", message.substr(0, place),
                     message.substr(place + kExcludes.size()));
}

}  // namespace

std::string explained(const CLI::App& command, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = command.get_subcommands();
  const CLI::App& at = chosen.empty() ? command : *chosen.front();
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return explained_extras(at);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return explained_missing(at, message);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return explained_count(at, message);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return explained_exclusion(message);
  return message + ".";
}

}  // namespace huddle
