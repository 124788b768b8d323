// SPDX-License-Identifier: MIT
// More threads than cores share one Transmitter: no memory is used again before it was sent, every
// Synchronizer hears of its transfer, and a broken connection lets everybody go.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "dtutils/transmitter.hpp"
#include "dtutils/wait.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;
using Outcome = Synchronizer::Outcome;

namespace {

constexpr std::uint32_t kPosters = 8;
constexpr std::uint64_t kPosts = 1500;
/// Local buffers of each thread: few, so that each is used again as soon as that is allowed.
constexpr std::size_t kBuffers = 24;

/// What one write carries: it says who sent it and when, on more than one cache line.
struct Payload {
  std::array<std::uint64_t, 20> words;

  static Payload of(std::uint64_t thread, std::uint64_t post) {
    Payload made;
    for (std::size_t i = 0; i < made.words.size(); ++i) {
      made.words[i] = (thread << 48) ^ (post << 16) ^ (i + 1);
    }
    return made;
  }
  bool operator==(const Payload&) const = default;
};

/// A device, a Transmitter that all threads share, and the memory that it writes into: one place
/// for each post of each thread, so that late bytes cannot hide.
struct SharedTransmitter {
  explicit SharedTransmitter(const DeviceOptions& options)
      : device(open_device(device_name(), options)),
        target(*device, target_options()),
        source(kPosters * kBuffers * sizeof(Payload), PageKind::kSmall, -1),
        source_region(target.pd, source.data(), source.size()),
        receives(*device, 16),
        transmitter(target.pd, receives, parameters()) {
    transmitter.connect(target.qp.endpoint());
    target.qp.connect(transmitter.endpoint());
  }

  static SideOptions target_options() {
    SideOptions options;
    options.memory = 4096 + kPosters * kPosts * sizeof(Payload);
    return options;
  }
  /// A small window, so that it is full most of the time.
  static TransmitterOptions parameters() {
    TransmitterOptions options;
    options.signaling.sharing_threads = kPosters;
    options.signaling.signal_interval = 4;
    options.signaling.signal_all_from = 16;
    options.signaling.window = 16 + 2 * kPosters - 1;
    options.queue_pair.send_depth = options.signaling.needed_send_depth();
    return options;
  }

  LocalBuffer buffer(std::uint64_t thread, std::size_t number) const {
    return source_region.local((thread * kBuffers + number) * sizeof(Payload), sizeof(Payload));
  }
  std::size_t place(std::uint64_t thread, std::uint64_t post) const {
    return 4096 + (thread * kPosts + post) * sizeof(Payload);
  }
  RemoteMemoryLocator counter() const { return target.remote(0, 8); }

  std::unique_ptr<Device> device;
  Side target;
  SharedSegment source;
  MemoryRegion source_region;
  CompletionQueue receives;
  Transmitter transmitter;
};

/// The device as the environment says, and in the adversarial mode.
DeviceOptions choose_device() {
  DeviceOptions options;
  if (device_name() == "shm" && GENERATE(false, true)) {
    options.adversary = Adversary{};
    options.adversary->seed = test_seed();
    options.adversary->max_delay_us = 5;
    UNSCOPED_INFO("CARIAMA_SHM_ADVERSARY=" << to_string(*options.adversary));
  }
  return options;
}

/// Writes until `posts` are done, or the Transmitter is broken; answers how many were taken.
std::uint64_t stream(SharedTransmitter& scene, std::uint64_t thread, std::uint64_t posts) {
  std::array<RetireTag, kBuffers> tags;
  for (std::uint64_t post = 0; post < posts; ++post) {
    const std::size_t number = post % kBuffers;
    if (!tags[number].done() && !scene.transmitter.wait(tags[number], kPatience)) {
      require(scene.transmitter.broken(), "waited in vain for a tag");
      return post;
    }
    const LocalBuffer buffer = scene.buffer(thread, number);
    const Payload payload = Payload::of(thread, post);
    std::memcpy(buffer.address, &payload, sizeof payload);
    if (!scene.transmitter.write(buffer,
                                 scene.target.remote(scene.place(thread, post), sizeof payload))) {
      return post;
    }
    tags[number] = scene.transmitter.tag();
  }
  return posts;
}

}  // namespace

TEST_CASE("memory_is_never_used_again_before_it_was_sent") {
  SharedTransmitter scene(choose_device());
  Threads threads;
  for (std::uint64_t thread = 0; thread < kPosters; ++thread) {
    threads.start([&scene, thread] {
      require_equal(stream(scene, thread, kPosts), kPosts, "number of writes");
      require(scene.transmitter.flush(kPatience), "could not flush");
      for (std::uint64_t post = 0; post < kPosts; ++post) {
        Payload arrived;
        std::memcpy(&arrived, scene.target.bytes().data() + scene.place(thread, post),
                    sizeof arrived);
        require(arrived == Payload::of(thread, post), "a write carried what came after it");
      }
    });
  }
  threads.join();
  CHECK_FALSE(scene.transmitter.broken());
}

TEST_CASE("synchronizers_and_blocking_atomics_of_many_threads_all_end") {
  constexpr std::uint64_t kRounds = 150;
  constexpr std::uint32_t kBatch = 12;
  SharedTransmitter scene(choose_device());
  Threads threads;
  for (std::uint64_t thread = 0; thread < kPosters; ++thread) {
    threads.start([&scene, thread] {
      std::uint64_t last = 0;
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        Synchronizer sent(kBatch);
        for (std::uint32_t i = 0; i < kBatch; ++i) {
          require(scene.transmitter.write(
                      scene.buffer(thread, i),
                      scene.target.remote(scene.place(thread, i), sizeof(Payload)), sent),
                  "a write was refused");
        }
        const auto before = scene.transmitter.blocking_fetch_and_add(scene.counter(), 1);
        require(before.has_value() && (round == 0 || *before > last), "the counter went back");
        last = *before;
        require(scene.transmitter.wait(sent, kPatience) == Outcome::kDone,
                "a Synchronizer was forgotten");
      }
    });
  }
  threads.join();
  CHECK(scene.target.at<std::uint64_t>(0) == kPosters * kRounds);
}

TEST_CASE("broken_connection_lets_every_thread_go") {
  SharedTransmitter scene(choose_device());
  Threads threads;
  for (std::uint64_t thread = 0; thread < kPosters; ++thread) {
    threads.start([&scene, thread] {
      Synchronizer sent(1);
      stream(scene, thread, kPosts / 4);
      if (thread == 0) scene.target.qp.disconnect();
      // Whatever was taken until now, these end, too.
      Deadline deadline(kPatience);
      while (!scene.transmitter.broken()) {
        require(!deadline.passed(), "nobody noticed that the connection is gone");
        stream(scene, thread, 64);
      }
      require(!scene.transmitter.write(scene.buffer(thread, 0),
                                       scene.target.remote(0, sizeof(Payload)), sent),
              "a broken transmitter took a write");
      require(scene.transmitter.wait(sent, kPatience) == Outcome::kFailed,
              "a Synchronizer did not hear of the failure");
      require(!scene.transmitter.flush(kPatience), "a broken transmitter was flushed");
    });
  }
  threads.join();
  REQUIRE(scene.transmitter.error().has_value());
  INFO(describe(*scene.transmitter.error()));
  CHECK(scene.transmitter.error()->status == IBV_WC_RETRY_EXC_ERR);
  // The memory is free as soon as the last request was flushed.
  CHECK(eventually([&] {
    scene.transmitter.progress();
    return scene.transmitter.tag().done();
  }));
}
