#include "huddle/base/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace huddle {
namespace {

std::error_code write_parts(const std::filesystem::path& file,
                            std::initializer_list<std::string_view> parts) {
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool is_written = out >= 0;
  for (const std::string_view part : parts) is_written = is_written && write_all(out, part);
  is_written = is_written && ::fsync(out) == 0;
  const std::error_code error(is_written ? 0 : errno, std::generic_category());
  if (out >= 0) ::close(out);
  return error;
}

}  // namespace

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::error_code replace_file(const std::filesystem::path& file,
                             std::initializer_list<std::string_view> parts) {
  std::filesystem::path unfinished = file;
  unfinished += ".unfinished";
  std::error_code error = write_parts(unfinished, parts);
  if (!error) std::filesystem::rename(unfinished, file, error);
  std::error_code ignored;
  if (error) std::filesystem::remove(unfinished, ignored);
  return error;
}

}  // namespace huddle
