// SPDX-License-Identifier: MIT
// Proofs of the job secret: of one greeting, one side and one secret only.
#include "bootstrap/proof.hpp"

#include <set>

#include "support/catch.hpp"

using namespace dsfabric::rendezvous;

namespace {

Greeting some_greeting() {
  Greeting greeting;
  greeting.launcher = make_nonce();
  greeting.process = make_nonce();
  greeting.rank = 3;
  greeting.size = 8;
  greeting.build = "build";
  return greeting;
}

}  // namespace

TEST_CASE("proof_is_accepted_by_who_knows_the_secret") {
  const Greeting greeting = some_greeting();
  const Proof proof = Secret("secret").prove(HandshakeRole::kInitiator, greeting);
  CHECK(Secret("secret").accepts(HandshakeRole::kInitiator, greeting, proof));
  CHECK_FALSE(Secret("secres").accepts(HandshakeRole::kInitiator, greeting, proof));
  CHECK_FALSE(Secret("").accepts(HandshakeRole::kInitiator, greeting, proof));
}

TEST_CASE("proof_of_one_side_is_none_of_the_other") {
  const Greeting greeting = some_greeting();
  const Secret secret("secret");
  CHECK_FALSE(secret.accepts(HandshakeRole::kResponder, greeting,
                             secret.prove(HandshakeRole::kInitiator, greeting)));
  CHECK_FALSE(secret.accepts(HandshakeRole::kInitiator, greeting,
                             secret.prove(HandshakeRole::kResponder, greeting)));
}

TEST_CASE("proof_is_of_everything_in_its_greeting") {
  const Greeting greeting = some_greeting();
  const Secret secret("secret");
  const Proof proof = secret.prove(HandshakeRole::kInitiator, greeting);
  const auto refused = [&](auto change) {
    Greeting other = greeting;
    change(other);
    return !secret.accepts(HandshakeRole::kInitiator, other, proof);
  };
  CHECK(refused([](Greeting& other) { other.launcher = make_nonce(); }));
  CHECK(refused([](Greeting& other) { other.process = make_nonce(); }));
  CHECK(refused([](Greeting& other) { std::swap(other.launcher, other.process); }));
  CHECK(refused([](Greeting& other) { other.rank = 4; }));
  CHECK(refused([](Greeting& other) { other.size = 9; }));
  CHECK(refused([](Greeting& other) { other.build = "built"; }));
}

TEST_CASE("proof_with_one_wrong_bit_or_another_length_is_refused") {
  const Greeting greeting = some_greeting();
  const Secret secret("secret");
  const Proof proof = secret.prove(HandshakeRole::kInitiator, greeting);
  for (std::size_t bit = 0; bit < 8 * sizeof(Proof); ++bit) {
    Proof wrong = proof;
    wrong[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK_FALSE(secret.accepts(HandshakeRole::kInitiator, greeting, wrong));
  }
  CHECK_FALSE(secret.accepts(HandshakeRole::kInitiator, greeting, {}));
  CHECK_FALSE(secret.accepts(HandshakeRole::kInitiator, greeting, std::span(proof).first(31)));
}

TEST_CASE("nonces_do_not_repeat") {
  std::set<Nonce> seen;
  for (int i = 0; i < 1000; ++i) CHECK(seen.insert(make_nonce()).second);
}
