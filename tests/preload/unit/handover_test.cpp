// SPDX-License-Identifier: MIT
// Offers of streams: who takes one, and who comes to one without a connection. Secrets in files.
#include "hosts/handover.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "dtutils/error.hpp"
#include "hosts/secret.hpp"
#include "local_name.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace preload;
using namespace preload::hosts;

namespace {

std::string own_connection(const char* test) {
  return std::string(test) + std::to_string(getpid());
}

class SecretFile {
 public:
  SecretFile(const std::string& text, mode_t mode) : name_(folder_.file("secret")) {
    const int fd = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    REQUIRE(fchmod(fd, mode) == 0);
    close(fd);
  }
  const std::string& name() const { return name_; }

 private:
  support::TemporaryFolder folder_;
  std::string name_;
};

}  // namespace

TEST_CASE("a_name_has_one_offer_as_long_as_it_lives") {
  const std::string name = own_connection("one/");
  {
    const Offer offer(name);
    CHECK_THROWS_AS(Offer(name), dtutils::Error);
    CHECK(Recipient(name).is_there());
  }
  CHECK_FALSE(Recipient(name).is_there());
  const Offer again(name);
}

TEST_CASE("who_comes_to_an_offer_with_nothing_costs_it_nothing") {
  const std::string name = own_connection("nothing/");
  Offer offer(name);
  CHECK(offer.take() == -1);
  const bool says = GENERATE(false, true);
  const int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const LocalName place(name);
  REQUIRE(connect(stranger, place.get(), place.length) == 0);
  if (says) REQUIRE(send(stranger, "?", 1, MSG_NOSIGNAL) == 1);
  CHECK(offer.take() == -1);
  close(stranger);
  std::array<int, 2> sockets;
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  Recipient recipient(name);
  REQUIRE(recipient.give(sockets[0]));
  const int taken = offer.take();
  REQUIRE(taken >= 0);
  CHECK((fcntl(taken, F_GETFD) & FD_CLOEXEC) != 0);
  for (const int fd : {taken, sockets[0], sockets[1]}) close(fd);
}

TEST_CASE("a_secret_is_read_from_a_file_of_its_owner_alone") {
  const SecretFile good("0123456789abcdef\nmore\n", 0600);
  const Statement statement{};
  const Proof proof = read_secret(good.name()).prove(HandshakeRole::kInitiator, statement);
  CHECK(Secret("0123456789abcdef").accepts(HandshakeRole::kInitiator, statement, proof));
  CHECK_THROWS_AS(read_secret(SecretFile("0123456789abcdef\n", 0640).name()), dtutils::Error);
  CHECK_THROWS_AS(read_secret(SecretFile("0123456789abcde\n", 0600).name()), dtutils::Error);
  CHECK_THROWS_AS(read_secret(SecretFile("", 0600).name()), dtutils::Error);
  CHECK_THROWS_AS(read_secret("/tmp"), dtutils::Error);
  CHECK_THROWS_AS(read_secret("/nowhere/at/all"), dtutils::Error);
}

TEST_CASE("a_proof_is_of_one_statement") {
  const Secret secret("0123456789abcdef");
  Statement statement{.verdict = Verdict::kNobody,
                      .broker = make_nonce(),
                      .process = make_nonce(),
                      .connection = *connection_name("p/1:2-3:4")};
  const Proof proof = secret.prove(HandshakeRole::kResponder, statement);
  CHECK(secret.accepts(HandshakeRole::kResponder, statement, proof));
  CHECK_FALSE(secret.accepts(HandshakeRole::kInitiator, statement, proof));
  for (const int change : {1, 2, 3, 4}) {
    Statement other = statement;
    if (change == 1) other.verdict = Verdict::kHandedOver;
    if (change == 2) other.broker[31] ^= std::byte{1};
    if (change == 3) other.process[0] ^= std::byte{1};
    if (change == 4) other.connection[8] = '5';
    CHECK_FALSE(secret.accepts(HandshakeRole::kResponder, other, proof));
  }
}
