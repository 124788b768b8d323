// SPDX-License-Identifier: MIT
// The broker between hosts: who is handed over, and who comes without the secret.
#include "hosts/broker.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "dtutils/error.hpp"
#include "dtutils/wait.hpp"
#include "hosts/handover.hpp"
#include "hosts/knock.hpp"
#include "support/catch.hpp"
#include "support/device_under_test.hpp"

using namespace preload::hosts;

namespace {

constexpr char kRight[] = "0123456789abcdef";

Settings settings(std::uint16_t port, const char* secret = kRight) {
  return {Secret(secret), "shm", port, false};
}

/// A name that no other test has at the same time.
std::string fresh_connection() {
  static std::atomic<unsigned> count{0};
  return "p/" + std::to_string(getpid()) + ":" + std::to_string(count.fetch_add(1));
}

sockaddr_storage loopback(std::uint16_t port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  sockaddr_storage any{};
  std::memcpy(&any, &address, sizeof address);
  return any;
}

/// Its calls wait, but not for ever.
void let_wait(int fd) {
  fcntl(fd, F_SETFL, 0);
  const timeval limit{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/// A TCP connection by hand.
int dial(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_storage address = loopback(port);
  REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_in)) == 0);
  let_wait(fd);
  return fd;
}

/// Whether it says so much.
template <class T>
bool hears(int fd, T& value) {
  return recv(fd, &value, sizeof value, MSG_WAITALL) == static_cast<ssize_t>(sizeof value);
}

/// A broker that serves as long as this lives.
class Serving {
 public:
  ~Serving() {
    ends_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return broker_.port(); }

 private:
  Broker broker_{Secret(kRight), 0};
  std::atomic<bool> ends_{false};
  std::thread thread_{[this] {
    while (!ends_) broker_.serve(std::chrono::milliseconds(5));
  }};
};

/// Somebody with the secret is handed over, be it at the second try: the first one may find that
/// strangers have all places.
bool serves(std::uint16_t port) {
  dtutils::Deadline deadline(support::kPatience);
  while (!deadline.passed()) {
    const std::string name = fresh_connection();
    Offer offer(name);
    const Visit visit = knock(settings(port), loopback(), name);
    if (visit.socket < 0) continue;
    const int taken = offer.take();
    REQUIRE(taken >= 0);
    let_wait(visit.socket);
    std::uint32_t heard = 0;
    const std::uint32_t said = 0x12345678;
    // What the broker sent stands before it, and was taken.
    REQUIRE(send(taken, &said, sizeof said, 0) == sizeof said);
    close(taken);
    const bool right = hears(visit.socket, heard) && heard == said;
    close(visit.socket);
    return right;
  }
  return false;
}

/// Listens where a broker would, and is none.
struct Impostor {
  Impostor() {
    sockaddr_storage address = loopback();
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(sockaddr_in);
    REQUIRE(bind(listener, raw, length) == 0);
    REQUIRE(listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, raw, &length) == 0);
    sockaddr_in here;
    std::memcpy(&here, &address, sizeof here);
    port = ntohs(here.sin_port);
  }
  ~Impostor() { close(listener); }

  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port = 0;
};

}  // namespace

TEST_CASE("who_knows_the_secret_is_handed_over_to_who_offers") {
  Serving broker;
  CHECK(serves(broker.port()));
  CHECK(serves(broker.port()));
}

TEST_CASE("a_broker_says_when_nobody_offers") {
  Serving broker;
  dtutils::Deadline deadline(support::kPatience);
  Visit visit;
  while (!visit.answered && !deadline.passed()) {
    visit = knock(settings(broker.port()), loopback(), fresh_connection());
  }
  CHECK(visit.answered);
  CHECK(visit.socket == -1);
}

TEST_CASE("who_has_another_secret_gets_nothing") {
  Serving broker;
  const std::string name = fresh_connection();
  Offer offer(name);
  const Visit visit = knock(settings(broker.port(), "0123456789abcdeF"), loopback(), name);
  CHECK_FALSE(visit.answered);
  CHECK(visit.socket == -1);
  CHECK(offer.take() == -1);
  CHECK(serves(broker.port()));
}

TEST_CASE("a_knock_that_was_heard_is_worth_nothing_in_another_visit") {
  Serving broker;
  const Secret secret(kRight);
  const std::string name = fresh_connection();
  Statement statement{.broker = {}, .process = make_nonce(), .connection = *connection_name(name)};
  Knock said{};
  for (const bool again : {false, true}) {
    const int fd = dial(broker.port());
    Challenge challenge;
    REQUIRE(hears(fd, challenge));
    if (!again) {
      statement.broker = challenge.broker;
      said = {statement.process, statement.connection,
              secret.prove(HandshakeRole::kInitiator, statement)};
    }
    REQUIRE(send(fd, &said, sizeof said, 0) == sizeof said);
    Answer answer;
    CHECK(hears(fd, answer) == !again);
    close(fd);
  }
}

TEST_CASE("names_that_no_connection_has_are_refused") {
  Serving broker;
  const Secret secret(kRight);
  for (const char* const name : {"", "broker/1", "p/../x"}) {
    const int fd = dial(broker.port());
    Challenge challenge;
    REQUIRE(hears(fd, challenge));
    Statement statement{.broker = challenge.broker, .process = make_nonce(), .connection = {}};
    std::strcpy(statement.connection.data(), name);
    const Knock said{statement.process, statement.connection,
                     secret.prove(HandshakeRole::kInitiator, statement)};
    REQUIRE(send(fd, &said, sizeof said, 0) == sizeof said);
    Answer answer;
    CHECK_FALSE(hears(fd, answer));
    close(fd);
  }
}

TEST_CASE("strangers_at_the_broker_are_dropped_and_hold_nobody") {
  Serving broker;
  std::vector<int> strangers;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{70}, sizeof(Knock), sizeof(Knock) * 40}) {
    const std::string garbage(bytes, 'x');
    strangers.push_back(dial(broker.port()));
    send(strangers.back(), garbage.data(), bytes, MSG_NOSIGNAL);
  }
  CHECK(serves(broker.port()));
  for (const int fd : strangers) {
    // Each ends, at the latest when its time is over, and has learned nothing.
    Challenge challenge;
    CHECK(hears(fd, challenge));
    char more;
    CHECK(recv(fd, &more, 1, 0) <= 0);
    close(fd);
  }
}

TEST_CASE("five_hundred_silent_strangers_leave_room_for_who_knows_the_secret") {
  Serving broker;
  std::vector<int> strangers;
  for (int i = 0; i < 500; ++i) strangers.push_back(dial(broker.port()));
  CHECK(serves(broker.port()));
  for (const int fd : strangers) close(fd);
}

TEST_CASE("nothing_is_said_to_who_does_not_begin_as_a_broker_does") {
  const int kind = GENERATE(0, 1, 2, 3);
  const Impostor impostor;
  std::string heard;
  std::thread other([&] {
    const int fd = accept(impostor.listener, nullptr, nullptr);
    Challenge challenge{kMagic, kVersion, 0, {}};
    if (kind == 1) challenge.magic = 0x2e32302d34382d53;  // Another service.
    if (kind == 2) ++challenge.version;
    const std::size_t size = kind == 3 ? 20 : sizeof challenge;  // Half, and then nothing.
    if (kind != 0) send(fd, &challenge, size, MSG_NOSIGNAL);
    std::array<char, 256> bytes;
    for (ssize_t n; (n = recv(fd, bytes.data(), bytes.size(), 0)) > 0;) {
      heard.append(bytes.data(), static_cast<std::size_t>(n));
    }
    close(fd);
  });
  const Visit visit = knock(settings(impostor.port), loopback(), fresh_connection());
  other.join();
  CHECK_FALSE(visit.answered);
  CHECK(heard.empty());
}

TEST_CASE("a_broker_that_does_not_know_the_secret_is_not_believed") {
  const Impostor impostor;
  std::thread other([&] {
    const int fd = accept(impostor.listener, nullptr, nullptr);
    const Challenge challenge{kMagic, kVersion, 0, {}};
    send(fd, &challenge, sizeof challenge, MSG_NOSIGNAL);
    Knock knocked{};
    hears(fd, knocked);
    // The only proof that it has is the visitor's own.
    const Answer answer{Verdict::kHandedOver, 0, knocked.proof};
    send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    close(fd);
  });
  const Visit visit = knock(settings(impostor.port), loopback(), fresh_connection());
  other.join();
  CHECK_FALSE(visit.answered);
  CHECK(visit.socket == -1);
}
