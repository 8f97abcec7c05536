#include "huddle/transport/process/envelope.h"

#include <bit>
#include <cstring>

#include "huddle/base/sha256.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// SipHash-2-4 (Aumasson and Bernstein, 2012), of whole words.
class SipHash {
 public:
  explicit SipHash(const SealKey& key)
      : v0_(key[0] ^ 0x736f6d6570736575U),
        v1_(key[1] ^ 0x646f72616e646f6dU),
        v2_(key[0] ^ 0x6c7967656e657261U),
        v3_(key[1] ^ 0x7465646279746573U) {}

  void add(std::uint64_t word) {
    v3_ ^= word;
    mix(2);
    v0_ ^= word;
  }

  std::uint64_t finish() {
    v2_ ^= 0xff;
    mix(4);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void mix(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      v0_ += v1_;
      v2_ += v3_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v1_;
      v0_ += v3_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

SealKey seal_key(std::string_view token, WorkerId from, WorkerId to) {
  const Digest digest = sha256(concat("huddle ", token, " from ", from.value, " to ", to.value));
  SealKey key;
  static_assert(sizeof key <= sizeof digest);
  std::memcpy(key.data(), digest.data(), sizeof key);
  return key;
}

std::uint64_t seal_of(const SealKey& key, const Envelope& envelope) {
  constexpr std::size_t kWords = sizeof(Envelope) / sizeof(std::uint64_t);
  std::array<std::uint64_t, kWords> words;
  std::memcpy(words.data(), &envelope, sizeof envelope);
  SipHash hash(key);
  for (std::size_t i = 1; i < kWords; ++i) hash.add(words[i]);
  hash.add(std::uint64_t{sizeof envelope - sizeof envelope.seal} << 56);
  return hash.finish();
}

}  // namespace huddle
