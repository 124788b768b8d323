// SPDX-License-Identifier: MIT
// Proofs of a secret: of one statement and one secret only.
#include "dtutils/shared_secret.hpp"

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "support/catch.hpp"

using namespace dtutils;

TEST_CASE("a_proof_is_accepted_for_its_statement_and_secret_only") {
  Nonce statement = make_nonce();
  const SharedSecret secret("secret");
  const Proof proof = secret.prove(statement);
  CHECK(SharedSecret("secret").accepts(statement, proof));
  CHECK_FALSE(SharedSecret("secres").accepts(statement, proof));
  CHECK_FALSE(SharedSecret("").accepts(statement, proof));
  CHECK_FALSE(secret.accepts(std::span(statement).first(31), proof));
  for (std::size_t bit = 0; bit < 8 * sizeof(Proof); ++bit) {
    const auto flip = std::byte{1} << (bit % 8);
    Proof wrong = proof;
    wrong[bit / 8] ^= flip;
    CHECK_FALSE(secret.accepts(statement, wrong));
    statement[bit / 8] ^= flip;
    CHECK_FALSE(secret.accepts(statement, proof));
    statement[bit / 8] ^= flip;
  }
  CHECK(secret.accepts(statement, proof));
}

TEST_CASE("a_proof_of_another_length_is_refused") {
  const Nonce statement = make_nonce();
  const SharedSecret secret("secret");
  const Proof proof = secret.prove(statement);
  CHECK_FALSE(secret.accepts(statement, {}));
  CHECK_FALSE(secret.accepts(statement, std::span(proof).first(31)));
}

TEST_CASE("nonces_and_secrets_do_not_come_twice") {
  std::set<Nonce> nonces;
  std::set<std::string> secrets;
  for (int i = 0; i < 1000; ++i) {
    CHECK(nonces.insert(make_nonce()).second);
    const std::string secret = make_secret();
    CHECK(secret.size() == 64);
    CHECK(secret.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(secrets.insert(secret).second);
  }
}
