// SPDX-License-Identifier: MIT
// Streams at TCP addresses: who knows the secret, and who does not.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

const dtutils::SharedSecret& secret() {
  static const dtutils::SharedSecret shared(dtutils::make_secret());
  return shared;
}

std::string address_of(const AddressListener& listener) {
  return "127.0.0.1:" + std::to_string(listener.port());
}

/// A connection made by hand.
int visit(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  require(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "nobody listens");
  return fd;
}

bool is_closed(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return poll(&entry, 1, static_cast<int>(kPatience.count())) == 1 &&
         (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

/// All that a connection brings.
std::vector<std::byte> take(int fd, std::size_t size) {
  std::vector<std::byte> bytes(size);
  require(recv(fd, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size), "it was short");
  return bytes;
}

void give(int fd, const std::vector<std::byte>& bytes) {
  require(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()),
          "it was not sent");
}

void send_one_byte(Stream& from, Stream& to) {
  const auto sent = std::byte{42};
  REQUIRE(from.send(std::span(&sent, 1), kPatience).bytes == 1);
  std::byte received{};
  REQUIRE(to.receive(std::span(&received, 1), kPatience).bytes == 1);
  CHECK(received == sent);
}

constexpr std::size_t kHelloBytes = 48;
constexpr std::size_t kClaimBytes = 80;

// On one host, where `address` is ":4711"; both have the same `text`, as of `openssl rand -hex 32`.
std::unique_ptr<Stream> serve_one(dtutils::ProtectionDomain& domain, const std::string& address,
                                  const std::string& text) {
  AddressListener listener(domain, address, dtutils::SharedSecret(text));
  return listener.accept(kPatience);
}

// On the other one, where `address` is "node7:4711".
std::unique_ptr<Stream> ask(dtutils::ProtectionDomain& domain, const std::string& address,
                            const std::string& text) {
  return connect_to(domain, address, dtutils::SharedSecret(text), kPatience);
}

/// One that nobody listens at, and that most likely nobody takes meanwhile.
std::string free_address() {
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  return address_of(listener);
}

}  // namespace

TEST_CASE("a_stream_is_made_by_address_and_secret") {
  const StreamOptions options = GENERATE(kPacketizedStream, kCreditStream, kZeroCopyStream);
  const std::string host = GENERATE("127.0.0.1", "localhost");
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] {
    there = connect_to(domain.pd, host + ":" + std::to_string(listener.port()), secret(), kPatience,
                       options);
  });
  const auto here = listener.accept(kPatience);
  threads.join();
  REQUIRE(here != nullptr);
  send_one_byte(*here, *there);
  send_one_byte(*there, *here);
}

TEST_CASE("a_process_may_connect_to_an_address_before_anybody_listens") {
  Domain domain;
  const std::string address = free_address();
  CHECK_THROWS_WITH(connect_to(domain.pd, address, secret(), milliseconds(30)),
                    contains("nobody answers there"));
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] { there = ask(domain.pd, address, "the same"); });
  const auto here = serve_one(domain.pd, address, "the same");
  threads.join();
  REQUIRE(here != nullptr);
  send_one_byte(*there, *here);
}

TEST_CASE("a_peer_that_is_killed_resets_a_stream_that_was_made_by_address") {
  const std::string address = free_address();
  RemotePeer peer([&](Wire& wire) {
    Domain domain;
    const auto stream = ask(domain.pd, address, "the same");
    wire.meet();
    wire.hear<int>();  // Until it is killed.
  });
  Domain domain;
  const auto stream = serve_one(domain.pd, address, "the same");
  REQUIRE(stream != nullptr);
  peer.wire().meet();
  peer.kill();
  std::byte into[8];
  CHECK(stream->receive(into, kPatience).status == Status::kReset);
}

TEST_CASE("who_does_not_know_the_secret_gets_no_stream_and_the_next_one_does") {
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  const std::string address = address_of(listener);
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] {
    const dtutils::SharedSecret other(dtutils::make_secret());
    try {
      connect_to(domain.pd, address, other, kPatience);
      fail("a stranger got a stream");
    } catch (const dtutils::Error& error) {
      require(std::string(error.what()).find("has another secret") != std::string::npos,
              error.what());
    }
    there = connect_to(domain.pd, address, secret(), kPatience);
  });
  const auto here = listener.accept(kPatience);
  threads.join();
  REQUIRE(here != nullptr);
  send_one_byte(*there, *here);
}

TEST_CASE("a_listener_that_does_not_know_the_secret_is_not_believed") {
  Domain domain;
  const dtutils::SharedSecret other(dtutils::make_secret());
  AddressListener listener(domain.pd, "127.0.0.1:0", other);
  Threads threads;
  threads.start([&] { require(listener.accept(milliseconds(200)) == nullptr, "it accepted"); });
  CHECK_THROWS_WITH(connect_to(domain.pd, address_of(listener), secret(), kPatience),
                    contains("has another secret"));
  threads.join();
}

TEST_CASE("strangers_at_an_address_delay_nobody_and_the_oldest_has_to_leave") {
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  std::vector<int> silent;
  for (std::size_t i = 0; i < kGuests + 10; ++i) silent.push_back(visit(listener.port()));
  const int talker = visit(listener.port());
  give(talker, std::vector<std::byte>(1000, std::byte{0x55}));
  const int half = visit(listener.port());
  give(half, std::vector<std::byte>(kHelloBytes / 2, std::byte{0}));
  dtutils::Deadline introduction(kIntroduction);
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] { there = connect_to(domain.pd, address_of(listener), secret(), kPatience); });
  const auto here = listener.accept(kPatience);
  threads.join();
  REQUIRE(here != nullptr);
  CHECK_FALSE(introduction.passed());
  send_one_byte(*here, *there);
  CHECK(is_closed(silent.front()));
  CHECK(is_closed(talker));
  for (const int fd : silent) close(fd);
  close(talker);
  close(half);
}

TEST_CASE("what_was_said_for_one_stream_is_worthless_for_another") {
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  // One who listens in the middle hears what both sides say, and says it again.
  const int middle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  REQUIRE(bind(middle, reinterpret_cast<sockaddr*>(&at), length) == 0);
  REQUIRE(listen(middle, 1) == 0);
  REQUIRE(getsockname(middle, reinterpret_cast<sockaddr*>(&at), &length) == 0);
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] {
    const std::string address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    try {
      connect_to(domain.pd, address, secret(), kPatience);
    } catch (const dtutils::Error&) {
      // The one in the middle leaves.
    }
  });
  Threads accepting;
  accepting.start([&] { require(listener.accept(milliseconds(300)) == nullptr, "it accepted"); });
  const int victim = accept(middle, nullptr, nullptr);
  const int first = visit(listener.port());
  give(victim, take(first, kHelloBytes));
  const std::vector<std::byte> claim = take(victim, kClaimBytes);
  close(first);
  const int second = visit(listener.port());
  CHECK(take(second, kHelloBytes).size() == kHelloBytes);
  give(second, claim);
  CHECK(is_closed(second));
  // Nor is the side that connects believed when it repeats what the listener said.
  const int third = visit(listener.port());
  std::vector<std::byte> echo = take(third, kHelloBytes);
  echo.resize(kClaimBytes);
  give(third, echo);
  CHECK(is_closed(third));
  for (const int fd : {victim, second, third, middle}) close(fd);
  threads.join();
  accepting.join();
}

TEST_CASE("wrong_addresses_are_explained") {
  Domain domain;
  const auto said = [&](const char* address) {
    try {
      AddressListener(domain.pd, address, secret());
    } catch (const dtutils::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(said("localhost"), contains("it has no port"));
  CHECK_THAT(said("localhost:http"), contains("is no port"));
  CHECK_THAT(said("no host:1"), contains("cannot be resolved"));
  CHECK_THAT(said("192.0.2.1:0"), contains("nobody can listen there"));
  AddressListener first(domain.pd, "127.0.0.1:0", secret());
  CHECK_THAT(said(address_of(first).c_str()), contains("take another one, or 0 for any"));
  CHECK_THROWS_WITH(connect_to(domain.pd, ":1", secret(), milliseconds(10)),
                    contains("it has no host"));
}

TEST_CASE("an_address_listener_without_descriptors_says_so_and_goes_on") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the sanitizer needs a descriptor of its own to look at memory");
  return;
#endif
  Domain domain;
  AddressListener listener(domain.pd, "127.0.0.1:0", secret());
  const int stranger = visit(listener.port());
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &old) == 0);
  rlimit few = old;
  few.rlim_cur = 3;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::string said;
  try {
    listener.accept(milliseconds(100));
  } catch (const dtutils::Error& error) {
    said = error.what();
  }
  REQUIRE(setrlimit(RLIMIT_NOFILE, &old) == 0);
  CHECK_THAT(said, contains("raise the limit of descriptors"));
  close(stranger);
  std::unique_ptr<Stream> there;
  Threads threads;
  threads.start([&] { there = connect_to(domain.pd, address_of(listener), secret(), kPatience); });
  CHECK(listener.accept(kPatience) != nullptr);
  threads.join();
}
