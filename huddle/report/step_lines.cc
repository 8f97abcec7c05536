#include "huddle/report/step_lines.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr double kLargestCount = 0x1p53;  // Up to here every whole number is a double.
constexpr std::int64_t kBytesPerCall = 1'000'000;
constexpr std::int64_t kMostLineBytes = 16 << 20;  // A group of a million workers has half of that.

// Takes a line apart without building it as an object, which is several times as fast. Whatever it
// does not know is passed over.
class StepLineReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Null where `text` is not a JSON object with a worker and a step.
  const StepLine* read(const std::string& text) {
    line_.worker = line_.step = -1;
    line_.end = line_.loss = std::numeric_limits<double>::quiet_NaN();
    line_.bytes_sent = 0;
    line_.progress.reset();
    line_.group.clear();
    line_.meeting.reset();
    objects_ = 0;
    key_ = Key::other;
    const bool is_json = nlohmann::json::sax_parse(text, this);
    return is_json && is_count(line_.worker) && is_count(line_.step) ? &line_ : nullptr;
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++objects_;
    return true;
  }
  bool end_object() override {
    --objects_;
    key_ = Key::other;
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override {
    key_ = Key::other;
    return true;
  }
  bool key(string_t& name) override {
    key_ = objects_ == 1 ? key_of(name) : Key::other;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  enum class Key { other, worker, step, end, loss, bytes_sent, progress, group, meeting };

  static Key key_of(const std::string& name) {
    if (name == "worker") return Key::worker;
    if (name == "step") return Key::step;
    if (name == "end") return Key::end;
    if (name == "loss") return Key::loss;
    if (name == "bytes_sent") return Key::bytes_sent;
    if (name == "progress") return Key::progress;
    if (name == "meeting") return Key::meeting;
    return name == "group" ? Key::group : Key::other;
  }

  static bool is_count(double value) { return value >= 0 && value <= kLargestCount; }

  bool number(double value) {
    switch (key_) {
      case Key::other: break;
      case Key::worker: line_.worker = value; break;
      case Key::step: line_.step = value; break;
      case Key::end: line_.end = value; break;
      case Key::loss: line_.loss = value; break;
      case Key::bytes_sent: line_.bytes_sent = value; break;
      case Key::progress: line_.progress = value; break;
      case Key::meeting: line_.meeting = value; break;
      case Key::group:
        if (value >= 0 && value < 1e9) line_.group.push_back(static_cast<int>(value));
        break;
    }
    return true;
  }

  StepLine line_;
  int objects_ = 0;  // How many are open.
  Key key_ = Key::other;
};

}  // namespace

LastLine read_step_lines(const std::filesystem::path& file,
                         const std::function<void(const StepLine&)>& take,
                         const BytesRead& bytes_read) {
  StepLineReader reader;
  std::int64_t number = 0;
  std::int64_t unreported = 0;
  std::int64_t broken = 0;  // The number of a line that is not a step; only the last may be.
  read_lines(file, kMostLineBytes, [&](const std::string& text) {
    ++number;
    if (broken > 0)
      throw UsageError(concat("'", file.string(), "', line ", broken,
                              ": not a step of a run. Only the last line may be incomplete."));
    unreported += static_cast<std::int64_t>(text.size()) + 1;
    if (bytes_read && unreported >= kBytesPerCall) bytes_read(std::exchange(unreported, 0));
    const StepLine* line = reader.read(text);
    line != nullptr ? take(*line) : void(broken = number);
  });
  if (bytes_read) bytes_read(unreported);
  return broken > 0 ? LastLine::cut_off : LastLine::whole;
}

}  // namespace huddle
