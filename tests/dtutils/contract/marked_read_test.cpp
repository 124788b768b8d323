// SPDX-License-Identifier: MIT
// READs whose end is seen in the memory that they fill.
#include "dtutils/marked_read.hpp"

#include <array>
#include <atomic>
#include <vector>

#include "dtutils/joinable_thread.hpp"
#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/transmitter_scene.hpp"

using namespace dtutils;
using namespace support;

namespace {

struct MarkedScene : TransmitterScene {
  explicit MarkedScene(std::uint32_t threads)
      : TransmitterScene(TransmitterOptions::for_threads(threads)) {}
  bool in_order() const {
    if (device->info().reads_in_order) return true;
    WARN("SKIPPED: this device does not promise the order of the bytes of one read");
    return false;
  }
  bool reads(std::size_t at, std::size_t bytes) {
    return blocking_read_marked(transmitter, source.local(at, static_cast<std::uint32_t>(bytes)),
                                target.remote(at, bytes));
  }
};

}  // namespace

TEST_CASE("marked_reads_bring_all_bytes") {
  for (const std::uint32_t threads : {1u, 4u}) {
    MarkedScene scene(threads);
    if (!scene.in_order()) return;
    std::uint64_t round = 0;
    for (const std::size_t words : {1, 2, 3, 8, 9, 64, 512}) {
      // More than the window holds, and nobody polls.
      for (int repeated = 0; repeated < 500; ++repeated) {
        ++round;
        for (std::size_t i = 0; i < words; ++i) scene.target.at<std::uint64_t>(8 * i) = round;
        REQUIRE(scene.reads(0, 8 * words));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < words; ++i) {
          wrong += scene.source.at<std::uint64_t>(8 * i) == round ? 0 : 1;
        }
        REQUIRE(wrong == 0);
      }
    }
    CHECK(scene.transmitter.flush(kPatience));
  }
}

TEST_CASE("marked_read_of_the_mark_itself_ends") {
  MarkedScene scene(4);
  if (!scene.in_order()) return;
  scene.target.at<std::uint64_t>(0) = 7;
  scene.target.at<std::uint64_t>(8) = kReadMark;
  for (int round = 0; round < 500; ++round) {
    scene.source.at<std::uint64_t>(0) = 0;
    REQUIRE(scene.reads(0, 16));
    REQUIRE(scene.source.at<std::uint64_t>(0) == 7);
    REQUIRE(scene.source.at<std::uint64_t>(8) == kReadMark);
  }
}

TEST_CASE("marked_read_of_several_elements_ends_with_the_last") {
  MarkedScene scene(4);
  if (!scene.in_order()) return;
  for (std::uint64_t round = 1; round <= 500; ++round) {
    for (std::size_t i = 0; i < 3; ++i) scene.target.at<std::uint64_t>(8 * i) = round + i;
    std::array<ibv_sge, 2> elements{};
    const std::array<LocalBuffer, 2> parts{scene.source.local(0, 8), scene.source.local(72, 16)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      elements[i] = {reinterpret_cast<std::uint64_t>(parts[i].address), parts[i].length,
                     parts[i].lkey};
    }
    ibv_send_wr request{};
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = elements.data();
    request.num_sge = 2;
    request.wr.rdma.remote_addr = scene.target.remote(0, 24).address;
    request.wr.rdma.rkey = scene.target.remote(0, 24).rkey;
    Synchronizer arrived(1);
    const Arrival arrival = post_marked_read(scene.transmitter, request);
    REQUIRE(arrival != Arrival::kBroken);
    if (arrival == Arrival::kUnderWay) {
      REQUIRE(await_marked(scene.transmitter, arrived));
      REQUIRE(scene.transmitter.wait(arrived, kPatience) == Synchronizer::Outcome::kDone);
    }
    REQUIRE(scene.source.at<std::uint64_t>(0) == round);
    REQUIRE(scene.source.at<std::uint64_t>(72) == round + 1);
    REQUIRE(scene.source.at<std::uint64_t>(80) == round + 2);
  }
}

TEST_CASE("marked_reads_of_several_threads_by_one_transmitter") {
  constexpr std::size_t kThreads = 4;
  MarkedScene scene(kThreads);
  if (!scene.in_order()) return;
  std::atomic<std::size_t> bad{0};
  for (std::size_t i = 0; i < kThreads * 8; ++i) scene.target.at<std::uint64_t>(8 * i) = i / 8 + 1;
  {
    std::vector<JoinableThread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int round = 0; round < 5000; ++round) {
          auto* const first = &scene.source.at<std::uint64_t>(64 * thread);
          store_device_word(first, std::uint64_t{0});
          const bool ended = scene.reads(64 * thread, 64);
          bad += ended && *first == thread + 1 ? 0 : 1;
        }
      });
    }
    for (JoinableThread& thread : threads) thread.join();
  }
  CHECK(bad == 0);
}

TEST_CASE("marked_read_fails_when_the_connection_breaks") {
  MarkedScene scene(4);
  if (!scene.in_order()) return;
  REQUIRE(scene.reads(0, 64));
  RemoteMemoryLocator foreign = scene.target.remote(0, 64);
  foreign.rkey ^= 0x5a5a;
  CHECK_FALSE(blocking_read_marked(scene.transmitter, scene.source.local(0, 64), foreign));
  CHECK(scene.transmitter.broken());
  CHECK_FALSE(scene.reads(0, 64));
  CHECK(read_marked(scene.transmitter, scene.source.local(0, 64), scene.target.remote(0, 64)) ==
        Arrival::kBroken);
}

TEST_CASE("blocking_reader_brings_all_bytes_on_every_device") {
  TransmitterScene scene(TransmitterOptions::for_threads(4));
  const BlockingReader reader(scene.transmitter);
  std::uint64_t round = 0;
  for (const std::size_t words : {1, 2, 9, 64, 512}) {
    for (int repeated = 0; repeated < 100; ++repeated) {
      ++round;
      for (std::size_t i = 0; i < words; ++i) scene.target.at<std::uint64_t>(8 * i) = round;
      REQUIRE(reader.read(scene.source.local(0, static_cast<std::uint32_t>(8 * words)),
                          scene.target.remote(0, 8 * words)));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < words; ++i) {
        wrong += scene.source.at<std::uint64_t>(8 * i) == round ? 0 : 1;
      }
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("blocking_reader_marks_only_where_the_device_fetches_in_order") {
  TransmitterScene scene(TransmitterOptions::for_threads(4));
  const BlockingReader reader(scene.transmitter);
  scene.source.at<std::uint64_t>(56) = 7;
  RemoteMemoryLocator foreign = scene.target.remote(0, 64);
  foreign.rkey ^= 0x5a5a;
  CHECK_FALSE(reader.read(scene.source.local(0, 64), foreign));
  // A read that fails leaves what stood there before it.
  CHECK(scene.source.at<std::uint64_t>(56) ==
        (scene.device->info().reads_in_order ? kReadMark : 7));
  CHECK(scene.transmitter.broken());
  CHECK_FALSE(reader.read(scene.source.local(0, 64), scene.target.remote(0, 64)));
}
