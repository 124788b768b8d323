// SPDX-License-Identifier: MIT
// Memory that is no shared segment can be registered, too: heap, stack and static memory.
#include <vector>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr std::size_t kSize = 20'000;

/// Registers heap memory, tells where it is, and checks what is there in the end.
void grant_heap(Wire& wire) {
  const auto device = open_device_under_test();
  Side side(*device);
  std::vector<std::byte> heap(kSize);
  fill(heap, 1);
  MemoryRegion region(side.pd, heap.data(), heap.size(), kAccessReadWrite);
  connect(wire, side);
  wire.tell(region.remote());
  must(side.qp.post_receive(region.local(15'000, 5'000), 1));
  wire.meet();
  wire.meet();
  const std::span<const std::byte> bytes(heap);
  require(holds(bytes.subspan(3, 10'000), 2), "the write did not arrive on the heap");
  require(success(side.receives, 1).byte_len == 3'000, "the length of the message");
  require(holds(bytes.subspan(15'000, 3'000), 3), "the message did not arrive on the heap");
}

/// What registering `memory` for reads and writes refuses with; empty when it works. A kernel may
/// forbid one process to reach into another (ptrace scope, containers).
std::string refusal(ProtectionDomain& pd, std::span<std::byte> memory) {
  const std::string text =
      error_text([&] { MemoryRegion region(pd, memory.data(), memory.size(), kAccessReadWrite); });
  return text == "(no error)" ? "" : text;
}

}  // namespace

TEST_CASE("heap_memory_of_another_process_can_be_read_written_and_sent_to") {
  RemotePeer peer(grant_heap);
  const auto device = open_device_under_test();
  Side side(*device);
  std::vector<std::byte> heap(kSize);
  if (const std::string text = refusal(side.pd, heap); !text.empty()) {
    WARN("SKIPPED: " << text);
    return;
  }
  MemoryRegion here(side.pd, heap.data(), heap.size(), kAccessReadWrite);
  connect(peer.wire(), side);
  const auto there = peer.wire().hear<RemoteMemoryLocator>();
  peer.wire().meet();

  must(side.qp.post_read(here.local(0, kSize), there, 1, kSignaled));
  success(side.sends, 1);
  CHECK(holds(heap, 1));
  fill(std::span(heap).first(10'000), 2);
  must(side.qp.post_write(here.local(0, 10'000), there.part(3, 10'000), 2, kSignaled));
  success(side.sends, 2);
  fill(side.bytes().first(3'000), 3);
  must(side.qp.post_send(side.local(0, 3'000), 3, kSignaled));
  success(side.sends, 3);

  must(side.qp.post_write(here.local(0, 64), there.part(kSize - 32, 64), 4, kSignaled));
  CHECK(failure(side.sends, 4).status == IBV_WC_REM_ACCESS_ERR);
  peer.wire().meet();
  peer.join();
}

TEST_CASE("heap_memory_of_the_own_process_can_be_a_target") {
  Pair pair;
  std::vector<std::byte> heap(kSize);
  if (const std::string text = refusal(pair.b.pd, heap); !text.empty()) {
    WARN("SKIPPED: " << text);
    return;
  }
  MemoryRegion region(pair.b.pd, heap.data(), heap.size(), kAccessReadWrite);
  fill(pair.a.bytes().first(kSize), 4);
  must(pair.a.qp.post_write(pair.a.local(0, kSize), region.remote(), 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(holds(heap, 4));
}

TEST_CASE("stack_memory_can_be_the_source_and_the_destination") {
  Pair pair;
  alignas(64) std::byte stack[4096];
  if (const std::string text = refusal(pair.a.pd, stack); !text.empty()) {
    WARN("SKIPPED: " << text);
    return;
  }
  MemoryRegion region(pair.a.pd, stack, sizeof stack, IBV_ACCESS_LOCAL_WRITE);
  fill(std::span(stack).first(100), 5);
  must(pair.a.qp.post_write(region.local(0, 100), pair.b.remote(0, 100), 1, kSignaled));
  must(pair.a.qp.post_read(region.local(2048, 100), pair.b.remote(0, 100), 2, kSignaled));
  success(pair.a.sends, 1);
  success(pair.a.sends, 2);
  CHECK(holds(std::span(stack).subspan(2048, 100), 5));
}

TEST_CASE("atomics_on_heap_memory_work_or_are_refused_at_registration") {
  Pair pair;
  alignas(8) static std::uint64_t word;
  word = 5;
  std::unique_ptr<MemoryRegion> region;
  const std::string text = error_text(
      [&] { region = std::make_unique<MemoryRegion>(pair.b.pd, &word, sizeof word, kAccessAll); });
  if (region == nullptr) {
    INFO(text);
    CHECK(text.find("atomic") != std::string::npos);
    return;
  }
  must(pair.a.qp.post_fetch_and_add(pair.a.local(0, 8), region->remote(), 2, 1, kSignaled));
  success(pair.a.sends, 1);
  CHECK(word == 7);
}
