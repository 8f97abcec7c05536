#include "huddle/report/step_lines.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"
#include "huddle/record/time_parts.h"

namespace huddle {
namespace {

constexpr double kLargestCount = 0x1p53;  // Up to here every whole number is a double.
constexpr std::int64_t kBytesPerCall = 1'000'000;
constexpr std::int64_t kMostLineBytes = 16 << 20;  // A group of a million workers has half of that.

// Lines are written by hand, not through JSON objects: a step of a small model takes microseconds,
// and so must its record.
using LineText = fmt::memory_buffer;

void add(LineText& line, std::string_view text) {
  line.append(text.data(), text.data() + text.size());
}

template <typename Number>
void add_number(LineText& line, Number number) {
  fmt::format_to(std::back_inserter(line), FMT_COMPILE("{}"), number);
}

void add_value(LineText& line, std::int64_t number) { add_number(line, number); }
void add_value(LineText& line, WorkerId worker) { add_number(line, worker.value); }
void add_value(LineText& line, Step step) { add_number(line, step.value); }

void add_value(LineText& line, double number) {
  std::isfinite(number) ? add_number(line, number) : add(line, "null");
}

template <typename Value>
void add_field(LineText& line, std::string_view name, const Value& value);

void add_value(LineText& line, const TimeSplit& time) {
  add(line, "{");
  for (const auto& [name, part] : kTimeParts) add_field(line, name, time.*part);
  add(line, "}");
}

void add_value(LineText& line, const Group& group) {
  add(line, "[");
  for (int position = 0; position < group.size(); ++position) {
    if (position > 0) add(line, ",");
    add_value(line, group[position]);
  }
  add(line, "]");
}

// The first of an object follows its brace, the others a comma.
template <typename Value>
void add_field(LineText& line, std::string_view name, const Value& value) {
  add(line, line[line.size() - 1] == '{' ? "\"" : ",\"");
  add(line, name);
  add(line, "\":");
  add_value(line, value);
}

template <typename Value>
void add_field(LineText& line, std::string_view name, const std::optional<Value>& value) {
  if (value) add_field(line, name, *value);
}

template <auto kMember>
void write(LineText& line, std::string_view name, const StepRecord& record) {
  add_field(line, name, record.*kMember);
}

// What stands in a line, and where it goes when the line is read: nowhere, if nobody asks for it.
struct StepField {
  std::string_view name;
  void (*write)(LineText& line, std::string_view name, const StepRecord& record);
  std::variant<std::monostate, double StepLine::*, std::optional<double> StepLine::*,
               std::vector<int> StepLine::*>
      read = {};
};

constexpr StepField kStepFields[] = {
    {"worker", write<&StepRecord::worker>, &StepLine::worker},
    {"step", write<&StepRecord::step>, &StepLine::step},
    {"progress", write<&StepRecord::progress>, &StepLine::progress},
    {"end", write<&StepRecord::end>, &StepLine::end},
    {"loss", write<&StepRecord::loss>, &StepLine::loss},
    {"learning_rate", write<&StepRecord::learning_rate>},
    {"time", write<&StepRecord::time>},
    {"bytes_sent", write<&StepRecord::bytes_sent>, &StepLine::bytes_sent},
    {"messages_sent", write<&StepRecord::messages_sent>},
    {"group", write<&StepRecord::group>, &StepLine::group},
    {"meeting", write<&StepRecord::meeting>, &StepLine::meeting}};

// Takes a line apart without building it as an object, which is several times as fast. Whatever it
// does not know is passed over.
class StepLineReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Null where `text` is not a JSON object with a worker and a step.
  const StepLine* read(const std::string& text) {
    line_ = {.group = std::move(line_.group)};  // It keeps its memory.
    line_.group.clear();
    objects_ = 0;
    field_ = nullptr;
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
    field_ = nullptr;
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override {
    field_ = nullptr;
    return true;
  }
  bool key(string_t& name) override {
    const auto* const found = std::ranges::find(kStepFields, name, &StepField::name);
    field_ = objects_ == 1 && found != std::end(kStepFields) ? found : nullptr;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static bool is_count(double value) { return value >= 0 && value <= kLargestCount; }

  bool number(double value) {
    if (field_ == nullptr) return true;
    if (const auto* figure = std::get_if<double StepLine::*>(&field_->read))
      line_.** figure = value;
    else if (const auto* known = std::get_if<std::optional<double> StepLine::*>(&field_->read))
      line_.** known = value;
    else if (const auto* list = std::get_if<std::vector<int> StepLine::*>(&field_->read);
             list && value >= 0 && value < 1e9)
      (line_.**list).push_back(static_cast<int>(value));
    return true;
  }

  StepLine line_;
  int objects_ = 0;                   // How many are open.
  const StepField* field_ = nullptr;  // Whose value comes next.
};

}  // namespace

std::string step_line(const StepRecord& record) {
  LineText line;
  add(line, "{");
  for (const StepField& field : kStepFields) field.write(line, field.name, record);
  add(line, "}\n");
  return fmt::to_string(line);
}

std::vector<std::string> step_keys() {
  std::vector<std::string> keys;
  for (const StepField& field : kStepFields) keys.emplace_back(field.name);
  return keys;
}

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
