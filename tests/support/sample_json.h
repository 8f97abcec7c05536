// A JSON value of a shape (huddle/report/json_kinds.h) in which nothing is empty.

#pragma once

#include <string>

#include "huddle/report/json_kinds.h"

namespace huddle {

inline Json sample_of(const Json& shape) {
  if (shape == "text" || shape == "name") return "some text";
  if (shape == "number") return 1;
  if (shape == "figure") return 0.25;
  if (shape == "flag") return true;
  if (shape.is_array()) return Json::array({sample_of(shape[0])});
  if (shape.contains("?")) return sample_of(shape["?"]);
  Json object = Json::object();
  for (const auto& [key, inner] : shape.items()) object[key == "*" ? "lr" : key] = sample_of(inner);
  return object;
}

}  // namespace huddle
