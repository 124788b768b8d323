// SPDX-License-Identifier: MIT
// A handle owns its piece, goes with it when moved, and gives it back once.
#include "dtutils/rdma_memory.hpp"

#include <utility>
#include <vector>

#include "support/busy_memory.hpp"
#include "support/catch.hpp"

namespace {

using dtutils::RDMAMemory;
using dtutils::detail::MemorySlot;
using support::FakeQueuePair;

/// Remembers what comes back.
class Owner final : public dtutils::detail::MemoryOwner {
 public:
  void take_back(MemorySlot& slot) noexcept override {
    ++returned;
    retired = slot.tags.done();
  }
  int returned = 0;
  bool retired = false;
};

struct Piece {
  Piece() { slot.owner = &owner; }
  RDMAMemory handle() { return {bytes.data(), bytes.size(), 11, 22, {3}, slot}; }

  Owner owner;
  MemorySlot slot;
  std::vector<std::byte> bytes = std::vector<std::byte>(1000);
};

}  // namespace

TEST_CASE("handle_describes_its_piece_to_this_side_and_to_the_peer") {
  Piece piece;
  const RDMAMemory memory = piece.handle();
  CHECK(memory.local().address == piece.bytes.data());
  CHECK(memory.local().length == 1000);
  CHECK(memory.local().lkey == 11);
  CHECK(memory.local(100, 50).address == piece.bytes.data() + 100);
  CHECK(memory.local(100, 50).length == 50);
  const dtutils::RemoteMemoryLocator remote = memory.remote();
  CHECK(remote.address == reinterpret_cast<std::uint64_t>(piece.bytes.data()));
  CHECK(remote.length == 1000);
  CHECK(remote.rkey == 22);
  CHECK(remote.zone == 3);
}

TEST_CASE("piece_goes_back_once_when_its_handle_is_destroyed") {
  Piece piece;
  {
    RDMAMemory memory = piece.handle();
    RDMAMemory moved(std::move(memory));
    CHECK_FALSE(memory);
    CHECK(moved);
    memory = std::move(moved);
    CHECK(piece.owner.returned == 0);
  }
  CHECK(piece.owner.returned == 1);
  CHECK(piece.owner.retired);
}

TEST_CASE("assigned_handle_gives_its_old_piece_back") {
  Piece a;
  Piece b;
  RDMAMemory memory = a.handle();
  memory = b.handle();
  CHECK(a.owner.returned == 1);
  CHECK(memory.data() == b.bytes.data());
  memory.reset();
  memory.reset();
  CHECK(b.owner.returned == 1);
  CHECK_FALSE(memory);
  CHECK(memory.size() == 0);
}

TEST_CASE("piece_may_go_back_before_its_tags_are_done") {
  Piece piece;
  FakeQueuePair qp;
  RDMAMemory memory = piece.handle();
  CHECK(memory.retired());
  CHECK(memory.retire_at(qp.post()));
  CHECK_FALSE(memory.retired());
  memory.reset();
  CHECK(piece.owner.returned == 1);
  CHECK_FALSE(piece.owner.retired);
}

TEST_CASE("piece_goes_back_with_the_last_of_its_parts") {
  Piece piece;
  FakeQueuePair qp;
  RDMAMemory memory = piece.handle();
  CHECK(memory.unshared());
  RDMAMemory part = memory.part(200, 300);
  CHECK_FALSE(memory.unshared());
  CHECK(part.data() == piece.bytes.data() + 200);
  CHECK(part.size() == 300);
  CHECK(part.retire_at(qp.post()));
  CHECK_FALSE(memory.retired());
  memory.reset();
  CHECK(piece.owner.returned == 0);
  part.reset();
  CHECK(piece.owner.returned == 1);
}
