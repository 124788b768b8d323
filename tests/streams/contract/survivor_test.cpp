// SPDX-License-Identifier: MIT
// The process that has a stream is killed, and a child that it forked goes on without it.
#include <unistd.h>

#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;

namespace {

constexpr std::size_t kFromOwner = 3000;
constexpr std::size_t kToOwner = 5000;

struct Found {
  std::uint64_t received;
  std::uint64_t sent;
  bool ended;
  bool same;
};

/// What the child finds when its parent has ended.
void survive(Wire& wire, const Stream& stream, pid_t owner) {
  while (getppid() == owner) usleep(1000);
  const auto word = stream.survivor_word();
  wire.tell(word.value_or(0));
  wire.hear<int>();
  Found found{stream.owner_received(), stream.owner_was_sent(), stream.owner_was_sent_end(), false};
  std::vector<std::byte> bytes(kToOwner + 1);
  // Two pieces, as of a ring.
  const iovec into[] = {{bytes.data(), 1234}, {bytes.data() + 1234, bytes.size() - 1234}};
  const std::size_t count = stream.copy_unreceived(into, found.sent);
  found.same = count == found.sent - found.received &&
               are_from(found.received, std::span(bytes).first(count));
  wire.tell(found);
}

void own(Wire& wire, const std::string& name, std::size_t receives) {
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  // One that is inherited as it is at the beginning.
  stream->announce_sharing(true);
  const pid_t owner = getpid();
  if (fork() == 0) {
    survive(wire, *stream, owner);
    _exit(0);
  }
  require(stream->send(bytes_from(0, kFromOwner), kPatience).bytes == kFromOwner, "no send");
  dtutils::Deadline deadline(kPatience);
  while (stream->readable() < kToOwner) require(!deadline.passed(), "nothing came");
  std::vector<std::byte> into(receives);
  if (receives != 0) require(stream->receive(into, kPatience).bytes == receives, "no receive");
  wire.tell(0);
  for (;;) pause();
}

bool skipped_off_shm() {
  if (open_device_under_test()->info().kind == dtutils::DeviceKind::kShm) return false;
  WARN("SKIPPED: a child has the memory of a stream on shm only");
  return true;
}

}  // namespace

TEST_CASE("a_child_finds_what_its_killed_parent_has_not_received") {
  if (skipped_off_shm()) return;
  const std::size_t receives = GENERATE(0, 100, 4096, 5000);
  const bool ends = GENERATE(false, true);
  const std::string name = fresh_name();
  RemotePeer owner([&](Wire& wire) { own(wire, name, receives); });
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience);
  REQUIRE(stream->send(bytes_from(0, kToOwner), kPatience).bytes == kToOwner);
  if (ends) stream->finish_sending();
  std::vector<std::byte> into(kFromOwner + 1);
  for (std::size_t got = 0; got < kFromOwner;) {
    got += stream->receive(std::span(into).subspan(got), kPatience).bytes;
  }
  owner.wire().hear<int>();
  CHECK_FALSE(stream->awaits_survivor());
  owner.kill();
  CHECK(stream->receive(into, kPatience).status == Status::kReset);
  CHECK(stream->awaits_survivor());
  const auto word = owner.wire().hear<std::uint64_t>();
  CHECK(stream->has_all(word));
  CHECK_FALSE(stream->has_all(word ^ 1));
  CHECK_FALSE(stream->has_all(0));
  owner.wire().tell(0);
  const auto found = owner.wire().hear<Found>();
  CHECK(found.received == receives);
  CHECK(found.sent == kToOwner);
  CHECK(found.ended == ends);
  CHECK(found.same);
}

TEST_CASE("who_was_told_of_no_other_process_waits_for_none") {
  const std::string name = fresh_name();
  RemotePeer owner([&](Wire& wire) {
    Domain domain;
    Listener listener(domain.pd, name);
    const std::unique_ptr<Stream> stream = listener.accept(kPatience);
    wire.tell(0);
    wire.hear<int>();
  });
  Domain domain;
  const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience);
  owner.wire().hear<int>();
  owner.kill();
  std::byte into[1];
  CHECK(stream->receive(into, kPatience).status == Status::kReset);
  CHECK_FALSE(stream->awaits_survivor());
}
