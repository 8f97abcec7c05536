#include "huddle/train/data/idx.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/read_file.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::uint32_t kUnsignedBytes = 0x0800;  // The magic number less the number of dimensions.
constexpr std::size_t kWordBytes = 4;
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t index) {
  std::uint32_t value = 0;
  for (const std::uint8_t byte : bytes.subspan(index * kWordBytes, kWordBytes))
    value = value << 8 | byte;
  return value;
}

std::size_t dimensions(const IdxOrigin& origin, std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kWordBytes)
    throw idx_error(origin, concat("truncated: ", bytes.size(), " bytes are too few for a header"));
  const std::uint32_t magic = word(bytes, 0);
  if (magic == kUnsignedBytes + 1 || magic == kUnsignedBytes + 3) return magic - kUnsignedBytes;
  throw idx_error(origin,
                  concat("not an IDX file of bytes in 1 or 3 dimensions: it begins with ", magic,
                         " instead of ", kUnsignedBytes + 1, " or ", kUnsignedBytes + 3));
}

}  // namespace

UsageError idx_error(const IdxOrigin& origin, const std::string& reason) {
  return UsageError(
      concat(origin.name, ": ", reason, origin.way_out.empty() ? "." : "; ", origin.way_out));
}

IdxArray parse_idx(IdxOrigin origin, std::span<const std::uint8_t> bytes) {
  const std::size_t rank = dimensions(origin, bytes);
  const std::size_t header_bytes = (1 + rank) * kWordBytes;
  if (bytes.size() < header_bytes)
    throw idx_error(
        origin, concat("truncated: ", bytes.size(), " bytes, the header alone has ", header_bytes));

  std::vector<std::int64_t> sizes;
  const std::size_t held = bytes.size() - header_bytes;
  std::size_t expected = 1;
  bool fits = true;
  for (std::size_t dimension = 1; dimension <= rank; ++dimension) {
    const std::uint32_t size = word(bytes, dimension);
    sizes.push_back(size);
    if (size == 0) throw idx_error(origin, "one of its sizes is 0");
    // Three sizes of 32 bits can overflow the product, so it is given up once it exceeds what the
    // file could hold.
    fits = fits && expected <= held / size;
    if (fits) expected *= size;
  }
  if (!fits)
    throw idx_error(
        origin, concat("truncated: it holds ", held, " values, fewer than its header announces"));
  if (held != expected)
    throw idx_error(origin,
                    concat("it holds ", held, " values, but its header announces ", expected));
  const at::Tensor values = at::empty(sizes, at::kByte);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(header_bytes), bytes.end(),
            values.mutable_data_ptr<std::uint8_t>());
  return {std::move(origin), values};
}

IdxArray read_idx(const std::filesystem::path& path, std::string way_out) {
  IdxOrigin origin{.name = path.string(), .way_out = std::move(way_out)};
  const std::string text = read_file(path, kMostBytes, origin.way_out);
  return parse_idx(std::move(origin),
                   {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

void require_pair(const IdxArray& images, const IdxArray& labels) {
  if (images.values.dim() != 3)
    throw idx_error(images.origin, "holds labels where images are expected");
  if (labels.values.dim() != 1)
    throw idx_error(labels.origin, "holds images where labels are expected");
  if (images.values.size(0) != labels.values.size(0))
    throw idx_error(labels.origin,
                    concat(labels.values.size(0), " labels for the ", images.values.size(0),
                           " images of ", images.origin.name));
}

}  // namespace huddle
