// Plain text tables for the terminal, and the closing table of a training run, at most 80 columns
// wide.

#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "huddle/record/record.h"

namespace huddle {

// How many columns `text` takes, counting one for each character of UTF-8. Right for Latin letters
// and the symbols that reports use (µ, █, …); wide and combining characters are not known to it.
std::size_t display_width(std::string_view text);

// `share` of `width` columns filled: "█████░░░░░" for 0.5 of 10. A share above 1 fills the bar, one
// that is not a number or below 0 leaves it empty.
std::string text_bar(double share, int width);

// The lines of `text` cut at spaces and after commas so that none is wider than `width`, where that
// is possible: a single long word stays whole. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// Rows of cells under headers, aligned in columns two spaces apart.
class Table {
 public:
  enum class Align { left, right };

  struct Column {
    std::string header;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell for each column.
  void add_row(std::vector<std::string> cells);

  // All lines, each ended by a newline, none by spaces. Without any header there is no header line.
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells,
                   const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The closing table: what was run, what it came to, and where the workers' time went.
void print_summary(std::FILE* out, const Summary& summary);

}  // namespace huddle
