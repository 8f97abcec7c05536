// IDX, the file format of MNIST and its relatives: a magic number, the sizes as big-endian 32-bit
// numbers, then the values.
//
// Only what image sets need is read: unsigned bytes in one dimension (labels) or three (images). A
// file that is missing or damaged is a UsageError that names it, says what is wrong and ends with
// the way out.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "huddle/base/error.h"

namespace huddle {

// Where bytes came from, for messages.
struct IdxOrigin {
  std::string name;     // A path, or what the embedded bytes are called.
  std::string way_out;  // What to do if they are bad ("run: …"); may be empty.
};

// What is wrong with such bytes, with the way out.
UsageError idx_error(const IdxOrigin& origin, const std::string& reason);

// One IDX file in memory.
struct IdxArray {
  IdxOrigin origin;
  at::Tensor values;  // Bytes. Three sizes of images (count, height, width), one of labels.
};

IdxArray parse_idx(IdxOrigin origin, std::span<const std::uint8_t> bytes);

IdxArray read_idx(const std::filesystem::path& path, std::string way_out);

// Throws UsageError unless there are three-dimensional images, one-dimensional labels, and as many
// of one as of the other.
void require_pair(const IdxArray& images, const IdxArray& labels);

}  // namespace huddle
