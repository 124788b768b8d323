// SPDX-License-Identifier: MIT
// Proofs of a secret: of one transcript, one side and one secret only.
#include "dtutils/shared_secret.hpp"

#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "support/catch.hpp"

using namespace dtutils;

namespace {

using Payload = std::array<std::byte, 24>;
constexpr Payload kNothing{};

constexpr auto kInitiator = HandshakeRole::kInitiator;
constexpr auto kResponder = HandshakeRole::kResponder;

Transcript some_transcript(const Payload& payload) {
  return {"protocol", make_nonce(), make_nonce(), payload};
}

}  // namespace

TEST_CASE("a_proof_is_accepted_for_its_statement_and_secret_only") {
  Payload payload{};
  Transcript transcript = some_transcript(payload);
  const SharedSecret secret("secret");
  const Proof proof = secret.prove(kInitiator, transcript);
  const auto is_accepted = [&] { return secret.accepts(kInitiator, transcript, proof); };
  CHECK(SharedSecret("secret").accepts(kInitiator, transcript, proof));
  CHECK_FALSE(SharedSecret("secres").accepts(kInitiator, transcript, proof));
  CHECK_FALSE(SharedSecret("").accepts(kInitiator, transcript, proof));
  for (std::size_t bit = 0; bit < 8 * sizeof(Proof); ++bit) {
    const auto flip = std::byte{1} << (bit % 8);
    Proof wrong = proof;
    wrong[bit / 8] ^= flip;
    CHECK_FALSE(secret.accepts(kInitiator, transcript, wrong));
    for (Nonce* const nonce : {&transcript.initiator, &transcript.responder}) {
      (*nonce)[bit / 8] ^= flip;
      CHECK_FALSE(is_accepted());
      (*nonce)[bit / 8] ^= flip;
    }
  }
  for (std::size_t bit = 0; bit < 8 * sizeof(Payload); ++bit) {
    payload[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK_FALSE(is_accepted());
    payload[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  CHECK(is_accepted());
  std::swap(transcript.initiator, transcript.responder);
  CHECK_FALSE(is_accepted());
}

TEST_CASE("a_proof_of_one_side_is_none_of_the_other") {
  const Transcript transcript = some_transcript(kNothing);
  const SharedSecret secret("secret");
  CHECK_FALSE(secret.accepts(kResponder, transcript, secret.prove(kInitiator, transcript)));
  CHECK_FALSE(secret.accepts(kInitiator, transcript, secret.prove(kResponder, transcript)));
}

TEST_CASE("a_proof_in_one_protocol_is_none_in_another") {
  const SharedSecret secret("secret");
  const auto text = std::as_bytes(std::span("protocol", 8));
  Transcript transcript{"protocol", make_nonce(), make_nonce(), {}};
  const Proof proof = secret.prove(kInitiator, transcript);
  for (const char* const other : {"", "protocoL", "protocol2", "protoco"}) {
    transcript.protocol = other;
    CHECK_FALSE(secret.accepts(kInitiator, transcript, proof));
  }
  // Bytes that wander from one field into the next one make another transcript.
  Transcript moved{{}, {}, {}, text};
  const Proof of_payload = secret.prove(kInitiator, moved);
  moved = {"protocol", {}, {}, {}};
  CHECK_FALSE(secret.accepts(kInitiator, moved, of_payload));
}

TEST_CASE("a_proof_of_another_length_is_refused") {
  const Transcript transcript = some_transcript(kNothing);
  const SharedSecret secret("secret");
  const Proof proof = secret.prove(kInitiator, transcript);
  CHECK_FALSE(secret.accepts(kInitiator, transcript, {}));
  CHECK_FALSE(secret.accepts(kInitiator, transcript, std::span(proof).first(31)));
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
