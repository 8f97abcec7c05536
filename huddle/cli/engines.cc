#include "huddle/cli/engines.h"

#include "huddle/transport/threads/launcher.h"

namespace huddle {

std::vector<SpecInfo> known_engines() {
  return {{.name = "threads",
           .summary = "workers as threads of this process; links, slowness and deaths are injected "
                      "in real time",
           .keys = {{.name = "native",
                     .type = KeyInfo::Type::choice,
                     .fallback = "on",
                     .help = "on: averages go through shared memory; off: as messages. Same bits",
                     .choices = {"on", "off"}}}}};
}

std::unique_ptr<Launcher> make_engine(std::string_view spec, const Cluster& cluster) {
  const Spec parsed = parse_spec(spec);
  const Options options("engine", find_info("engine", known_engines(), parsed.name), parsed);
  ThreadsOptions threads{.cluster = cluster};
  threads.native =
      options.text("native") == "on" ? ThreadsOptions::Native::on : ThreadsOptions::Native::off;
  return make_threads_launcher(threads);
}

}  // namespace huddle
