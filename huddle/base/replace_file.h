// Files that are replaced as a whole: a reader finds the old or the new, never half of it.

#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace huddle {

// Writes all of `text`; false leaves the cause in errno.
bool write_all(int file, std::string_view text);

// Writes the parts one after another and gives them the file's name once the disk has them, so that
// not even a failing machine leaves half. Until then it is beside it, "NAME.unfinished". On an
// error the file is as it was.
std::error_code replace_file(const std::filesystem::path& file,
                             std::initializer_list<std::string_view> parts);

}  // namespace huddle
