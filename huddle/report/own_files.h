// Which files Huddle has written, told by what is in them, so that no other is ever replaced.

#pragma once

#include <filesystem>
#include <string>

namespace huddle {

enum class OwnFile { summary, steps, timeline, report, results, checkpoint };

// Whether Huddle has written `file` as one of these, whichever version it was. A file without
// contents counts: there is nothing in it to lose. False for what does not exist or is no regular
// file.
bool is_own(const std::filesystem::path& file, OwnFile kind);

enum class Older { refuse, replace };

// Throws UsageError unless a file may be written at `file`: there is none yet, or it is Huddle's
// own and `older` lets it go. `place` is what the user typed: "--timeline t.json"; `consent` is
// what to type for an older one to be let go.
void check_replaceable(const std::filesystem::path& file, OwnFile kind, Older older,
                       const std::string& place, const std::string& consent = "--replace");

}  // namespace huddle
