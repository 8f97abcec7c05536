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

// RFC 4231, cases 1, 2, 3, 6 and 7.
TEST(HmacSha256, GivesThePublishedDigests) {
  const auto signed_by = [](const std::string& key, const std::string& bytes) {
    return hex_of(hmac_sha256(key, bytes));
  };
  EXPECT_EQ(signed_by(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(signed_by("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(signed_by(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  const std::string long_key(131, '\xaa');
  EXPECT_EQ(signed_by(long_key, "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(signed_by(long_key,
                      "This is a test using a larger than block-size key and a larger than "
                      "block-size data. The key needs to be hashed before being used by the HMAC "
                      "algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Digest, IsEqualToItselfAlone) {
  const Digest digest = sha256("a");
  EXPECT_TRUE(is_equal_in_constant_time(digest, sha256("a")));
  for (const std::size_t at : {0u, 31u}) {
    Digest other = digest;
    other[at] ^= 1;
    EXPECT_FALSE(is_equal_in_constant_time(digest, other)) << at;
  }
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
