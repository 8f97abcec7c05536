#include "huddle/base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace huddle {
namespace {

std::string hashed(std::string_view bytes) { return hex_of(sha256(bytes)); }

// The examples of FIPS 180-4 and of NIST's validation suite.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hashed(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hashed("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashed("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hashed("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                   "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hashed(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hashed("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(hashed(std::string(55, '\0')),
            "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(hashed(std::string(56, '\0')),
            "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(hashed(std::string(64, '\0')),
            "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArePieced) {
  const std::string bytes = std::string(150, 'x') + "end";
  for (const std::size_t piece : {1u, 7u, 63u, 64u, 65u}) {
    Sha256 hash;
    for (std::size_t at = 0; at < bytes.size(); at += piece) hash.add(bytes.substr(at, piece));
    EXPECT_EQ(hex_of(hash.finish()), hashed(bytes)) << piece;
  }
}

}  // namespace
}  // namespace huddle
