#include "huddle/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// An open regular file.
class File {
 public:
  File(std::filesystem::path path, std::string_view way_out)
      : path_(std::move(path)), way_out_(way_out) {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0)
      refuse(errno == ENOENT ? "there is no such file" : system_message(errno));
    require_regular(status.st_mode);
    // Should it have become a pipe since, opening does not wait for a writer.
    file_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file_ < 0) refuse(system_message(errno));
    if (::fstat(file_, &status) != 0) refuse(system_message(errno));
    require_regular(status.st_mode);
    size_ = status.st_size;
  }

  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::int64_t size() const { return size_; }

  // Adds what comes next to `text`, at most a block. False at the end.
  bool read_block(std::string& text) {
    const std::size_t before = text.size();
    text.resize(before + kBlockBytes);
    ssize_t count = 0;
    do count = ::read(file_, text.data() + before, kBlockBytes);
    while (count < 0 && errno == EINTR);
    if (count < 0) refuse(system_message(errno));
    text.resize(before + static_cast<std::size_t>(count));
    return count > 0;
  }

  void go_to(std::int64_t place) {
    if (::lseek(file_, place, SEEK_SET) < 0) refuse(system_message(errno));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    if (file_ >= 0) ::close(file_);  // A constructor that throws leaves no destructor to do it.
    file_ = -1;
    throw UsageError(concat("cannot read '", path_.string(), "': ", why,
                            way_out_.empty() ? "" : "; ", way_out_, "."));
  }

 private:
  void require_regular(mode_t mode) const {
    if (!S_ISREG(mode)) refuse(concat("it is ", kind_of(mode), ", not a regular file"));
  }

  const std::filesystem::path path_;
  const std::string_view way_out_;
  mutable int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace

std::string read_file(const std::filesystem::path& file, std::int64_t most_bytes,
                      std::string_view way_out) {
  File open(file, way_out);
  const auto refuse_large = [&](std::int64_t bytes) {
    if (bytes > most_bytes)
      open.refuse(concat("it has ", bytes, " bytes or more, and such a file at most ", most_bytes));
  };
  refuse_large(open.size());
  try {
    std::string text;
    text.reserve(static_cast<std::size_t>(open.size()) + kBlockBytes);
    while (open.read_block(text)) refuse_large(static_cast<std::int64_t>(text.size()));
    return text;
  } catch (const std::bad_alloc&) {
    open.refuse(concat("its ", open.size(), " bytes do not fit into memory"));
  }
}

FileEnds read_ends(const std::filesystem::path& file, std::int64_t bytes) {
  File open(file, {});
  FileEnds ends;
  const auto read = [&](std::int64_t from, std::string& text) {
    open.go_to(from);
    while (static_cast<std::int64_t>(text.size()) < bytes && open.read_block(text)) {
    }
    text.resize(std::min(text.size(), static_cast<std::size_t>(bytes)));
  };
  read(0, ends.first);
  read(std::max<std::int64_t>(0, open.size() - bytes), ends.last);
  return ends;
}

void read_lines(const std::filesystem::path& file, std::int64_t most_bytes,
                const std::function<void(const std::string& line)>& take) {
  File open(file, {});
  std::string text;
  std::string line;
  std::int64_t number = 1;
  for (bool goes_on = true; goes_on;) {
    const std::size_t searched = text.size();
    goes_on = open.read_block(text);
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n', searched); end != std::string::npos;
         end = text.find('\n', begin)) {
      line.assign(text, begin, end - begin);
      take(line);
      ++number;
      begin = end + 1;
    }
    text.erase(0, begin);
    if (static_cast<std::int64_t>(text.size()) > most_bytes)
      open.refuse(concat("its line ", number, " has more than ", most_bytes, " bytes"));
  }
  if (!text.empty()) take(text);
}

}  // namespace huddle
