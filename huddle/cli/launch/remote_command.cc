#include "huddle/cli/launch/remote_command.h"

#include "huddle/compare/scenario/comparison_plan.h"

namespace huddle {
namespace {

// Any sh runs it, with the directory, the program and its arguments as $1, $2 and so on. What
// waits for signals keeps neither output open, or ssh would wait for it. Exit statuses 126 and 127
// are those of a program that could not be started.
constexpr const char* kScript = R"(
IFS= read -r HUDDLE_TOKEN || exit 126
export HUDDLE_TOKEN
cd "$1" || exit 126
shift
exec 3<&0
"$@" 3<&- </dev/null &
worker=$!
{
  while read -r signal; do kill -s "$signal" "$worker"; done
  kill -s KILL "$worker"
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$worker"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
)";

}  // namespace

std::vector<std::string> remote_command(const RemoteStart& start) {
  std::vector<std::string> words{"exec", "env"};
  words.insert(words.end(), start.environment.begin(), start.environment.end());
  // After the script, what the shell calls itself in its own messages.
  words.insert(words.end(), {"sh", "-c", kScript, "huddle", start.directory});
  words.insert(words.end(), start.arguments.begin(), start.arguments.end());
  // Without a terminal there is nobody to ask for a password.
  return {"ssh", "-T", "-o", "BatchMode=yes", start.host, shell_text(words)};
}

}  // namespace huddle
