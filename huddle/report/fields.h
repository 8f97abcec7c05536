// Tables of fields: what each value of a record is called in files, and where it is in the record.
//
// A record has one table, fields_of(const Record*). Whoever writes it, reads it back, checks a
// file, prepares it for the page or shows it goes by that alone: a new field is a line there.

#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "huddle/report/json_kinds.h"

namespace huddle {

// Where a record has a value: a pointer to a member, or a function of the record. What a function
// returns as a reference can be read back, too; all else follows from other values.
template <typename Record>
struct Access {
  template <typename Found>
  using KindOf = JsonKind<std::remove_cvref_t<Found>>;

  // Implicit: a table names the member alone.
  template <std::invocable<const Record&> Projection>
  Access(Projection projection)
      : write([=](const Record& record) { return written(std::invoke(projection, record)); }),
        shape(KindOf<std::invoke_result_t<Projection, const Record&>>::shape) {
    using Found = std::invoke_result_t<Projection, Record&>;
    if constexpr (std::is_lvalue_reference_v<Found> &&
                  !std::is_const_v<std::remove_reference_t<Found>>)
      read = [=](const Json& json, Record& record) {
        read_into(json, std::invoke(projection, record));
      };
  }

  std::function<Json(const Record&)> write;
  std::function<void(const Json&, Record&)> read = {};  // Empty: there is nothing to be read.
  Json (*shape)();
};

// The place of a member of a member.
template <typename Record, typename Inner, typename Value>
auto within(Inner Record::*inner, Value Inner::*member) {
  return [=](auto& record) -> auto& { return record.*inner.*member; };
}

// What an empty text, or nothing, leaves in a file.
enum class Empty { as_it_is, null, left_out };

// A column of a table. Without a heading there is none; those with smaller places come first.
struct Column {
  std::string heading = {};
  int place = 0;
};

// How tables show a value.
struct Shown {
  std::string format = {};  // A word that the terminal and the page know.
  Column terminal = {};
  Column page = {};
  std::string factors = {};  // Of a time: the measure whose factors over baselines stand beside it.
};

template <typename Record>
struct Field {
  std::string name;  // The key in files.
  Access<Record> value;
  Shown shown = {};
  Empty empty = Empty::as_it_is;
};

// A record with a table.
template <typename Record>
concept HasFields = requires(const Record* record) {
  fields_of(record);
};

template <HasFields Record>
struct JsonKind<Record> {
  static const std::vector<Field<Record>>& fields() {
    static const std::vector<Field<Record>> table = fields_of(static_cast<const Record*>(nullptr));
    return table;
  }

  static Json write(const Record& record) {
    Json json = Json::object();
    for (const Field<Record>& field : fields()) {
      Json value = field.value.write(record);
      const bool is_empty = value.is_null() || value == "";
      if (is_empty && field.empty == Empty::left_out) continue;
      json[field.name] = is_empty && field.empty == Empty::null ? Json() : std::move(value);
    }
    return json;
  }

  static bool read(const Json& json, Record& record) {
    for (const Field<Record>& field : fields())
      if (field.value.read)
        field.value.read(json.is_object() ? json.value(field.name, Json()) : Json(), record);
    return json.is_object();
  }

  static Json shape() {
    Json shapes = Json::object();
    for (const Field<Record>& field : fields()) {
      const Json shape = field.value.shape();
      const bool is_name = field.empty == Empty::null && shape == "text";
      shapes[field.name] = field.empty == Empty::left_out ? Json{{"?", shape}}
                           : is_name                      ? Json("name")
                                                          : shape;
    }
    return shapes;
  }
};

}  // namespace huddle
