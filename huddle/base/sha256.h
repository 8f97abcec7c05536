// SHA-256 (FIPS 180-4): whether a file is still the one that was written. `sha256sum FILE` gives
// the same digits.
//
// Cost: some hundred megabytes a second on one core, less than writing them to a disk takes.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace huddle {

using Digest = std::array<std::uint8_t, 32>;

// Of what is added piece by piece.
class Sha256 {
 public:
  void add(std::string_view bytes);

  // Of all that was added. Nothing is added after it.
  Digest finish();

 private:
  void mix(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};  // Begun, not mixed in yet.
  std::size_t in_block_ = 0;
  std::uint64_t bytes_ = 0;
};

Digest sha256(std::string_view bytes);

// HMAC-SHA-256 (RFC 2104): what only those who know the key can say of the bytes.
Digest hmac_sha256(std::string_view key, std::string_view bytes);

// Whether two digests are one, in a time that does not tell how far they are.
bool is_equal_in_constant_time(const Digest& one, const Digest& other);

// 64 hexadecimal digits.
std::string hex_of(const Digest& digest);

}  // namespace huddle
