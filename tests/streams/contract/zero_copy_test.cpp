// SPDX-License-Identifier: MIT
// Long sends that the receiver reads out of the sender's memory: their order among short ones, and
// every way to receive them, in part, later, or not at all.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "../support/pair.hpp"
#include "support/catch.hpp"
#include "support/two_processes.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kLong = 300'000;
static_assert(kLong > 8 * kZeroCopyFrom && kLong > kZeroCopyFromPinned);

/// Sends those bytes from another thread, and wants them all to be sent.
void send_beside(Threads& threads, Stream& stream, std::uint64_t place, std::size_t count) {
  threads.start([&stream, place, count] {
    const Result result = stream.send(bytes_from(place, count), kPatience);
    require(result.status == Status::kOk && result.bytes == count, "a send failed");
  });
}

/// Receives `count` bytes from that place of the stream on, `piece` at a time.
void receive_all(Stream& stream, std::uint64_t place, std::size_t count, std::size_t piece) {
  std::vector<std::byte> into(piece);
  for (std::size_t done = 0; done < count;) {
    const Result result =
        stream.receive(std::span(into).first(std::min(piece, count - done)), kPatience);
    require(result.status == Status::kOk, "a receive failed");
    require(are_from(place + done, std::span(into).first(result.bytes)), "other bytes came");
    done += result.bytes;
  }
}

void await_ready(Stream& stream) {
  dtutils::Deadline deadline(kPatience);
  while (!stream.receive_ready()) require(!deadline.passed(), "nothing arrived");
}

}  // namespace

TEST_CASE("a_long_send_is_received_in_pieces_of_any_size") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  const std::size_t piece =
      GENERATE(std::size_t{700}, std::size_t{kReadAhead}, std::size_t{100'001}, kLong);
  Threads threads;
  send_beside(threads, *pair.here, 0, kLong);
  receive_all(*pair.there, 0, kLong, piece);
  threads.join();
}

TEST_CASE("long_and_short_sends_arrive_in_order") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random(seed);
  std::vector<std::size_t> sizes(40);
  std::size_t total = 0;
  for (std::size_t& size : sizes) {
    size = random.one_in(3) ? kZeroCopyFrom + random.below(100'000) : 1 + random.below(600);
    total += size;
  }
  const std::string name = fresh_name();
  RemotePeer peer([&](Wire&) {
    Domain domain;
    const std::unique_ptr<Stream> stream = connect(domain.pd, name, kPatience, kZeroCopyStream);
    std::uint64_t place = 0;
    for (const std::size_t size : sizes) {
      const Result result = stream->send(bytes_from(place, size), kPatience);
      require(result.status == Status::kOk && result.bytes == size, "a send failed");
      place += size;
    }
  });
  Domain domain;
  Listener listener(domain.pd, name);
  const std::unique_ptr<Stream> stream = listener.accept(kPatience);
  REQUIRE(stream != nullptr);
  std::vector<std::byte> into(150'000);
  for (std::size_t place = 0; place < total;) {
    await_ready(*stream);
    const std::size_t wanted = random.size_up_to(into.size());
    if (random.one_in(2)) {
      const Result peeked = stream->try_peek(std::span(into).first(wanted));
      require(are_from(place, std::span(into).first(peeked.bytes)), "other bytes were peeked");
    }
    const Result result = stream->receive(std::span(into).first(wanted), kPatience);
    REQUIRE(result.status == Status::kOk);
    require(are_from(place, std::span(into).first(result.bytes)), "other bytes were received");
    place += result.bytes;
  }
  CHECK(stream->receive(into, kPatience).status == Status::kEnd);
  peer.join();
}

TEST_CASE("a_long_send_is_received_into_several_buffers") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  Threads threads;
  send_beside(threads, *pair.here, 0, kLong);
  std::vector<std::byte> into(kLong);
  for (std::size_t done = 0; done < kLong;) {
    await_ready(*pair.there);
    const std::size_t first = std::min<std::size_t>(500, kLong - done);
    const iovec buffers[] = {{into.data() + done, first},
                             {nullptr, 0},
                             {into.data() + done + first, kLong - done - first}};
    const Result result = pair.there->try_receive(buffers);
    REQUIRE(result.status == Status::kOk);
    done += result.bytes;
  }
  CHECK(are_from(0, into));
  threads.join();
}

TEST_CASE("a_send_whose_time_is_over_tells_how_much_the_peer_has") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  const std::size_t wanted = GENERATE(std::size_t{0}, std::size_t{100}, std::size_t{100'000});
  std::vector<std::byte> bytes = bytes_from(0, kLong);
  std::atomic<bool> over{false};
  std::size_t sent = 0;
  Threads threads;
  threads.start([&] {
    const Result result = pair.here->send(bytes, milliseconds(200));
    over = true;
    require(result.status == Status::kTimeout, "nobody read all of it");
    sent = result.bytes;
  });
  std::vector<std::byte> into(wanted);
  std::size_t got = 0;
  // On a loaded machine it may be less, since the time is over.
  while (got < wanted && !over) got += pair.there->try_receive(std::span(into).subspan(got)).bytes;
  threads.join();
  CHECK(are_from(0, std::span(into).first(got)));
  // What was read ahead counts, too.
  CHECK(sent >= got);
  CHECK(sent <= (got == 0 ? 0 : got + kReadAhead));
  // The memory is the program's again.
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  send_beside(threads, *pair.here, sent, 5);
  receive_all(*pair.there, got, sent + 5 - got, 64);
  threads.join();
  std::byte more[1];
  CHECK(pair.there->try_receive(more).status == Status::kWouldBlock);
}

TEST_CASE("an_offer_that_was_taken_back_is_not_there_after_a_close") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  CHECK(pair.here->send(bytes_from(0, 3), kPatience).bytes == 3);
  CHECK(pair.here->send(bytes_from(3, kLong), milliseconds(20)).status == Status::kTimeout);
  CHECK(pair.here->send(bytes_from(3, 4), kPatience).bytes == 4);
  pair.here.reset();
  receive_all(*pair.there, 0, 7, 10);
  std::byte into[8];
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
}

TEST_CASE("a_half_close_behind_a_long_send_comes_behind_its_bytes") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  Threads threads;
  threads.start([&] {
    require(pair.here->send(bytes_from(0, kLong), kPatience).bytes == kLong, "a send failed");
    pair.here->finish_sending();
  });
  receive_all(*pair.there, 0, kLong, 50'000);
  std::byte into[8];
  CHECK(pair.there->receive(into, kPatience).status == Status::kEnd);
  threads.join();
}

TEST_CASE("a_close_with_an_unread_offer_resets_the_sender") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  const bool in_part = GENERATE(false, true);
  Threads threads;
  threads.start([&] {
    const Result result = pair.here->send(bytes_from(0, kLong), kPatience);
    require(result.status == Status::kBrokenPipe, "the sender was not told");
    require(result.bytes == (in_part ? kReadAhead : 0u), "another number of bytes was read");
  });
  await_ready(*pair.there);
  if (in_part) receive_all(*pair.there, 0, 10, 10);
  pair.there.reset();
  threads.join();
  std::byte into[8];
  CHECK(pair.here->receive(into, kPatience).status == Status::kReset);
}

TEST_CASE("memory_that_was_mapped_anew_at_an_address_is_sent_and_received_as_it_is_now") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  // A registration pins pages; that of the first round must not serve the second one.
  const auto map = [](void* at) {
    void* const data = mmap(at, kLong, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    require(data != MAP_FAILED, "there is no memory");
    return std::span(static_cast<std::byte*>(data), kLong);
  };
  std::span<std::byte> from = map(nullptr);
  std::span<std::byte> into = map(nullptr);
  for (std::uint64_t place = 0; place < 3 * kLong; place += kLong) {
    from = map(from.data());
    into = map(into.data());
    for (std::size_t i = 0; i < kLong; ++i) from[i] = byte_at(place + i);
    Threads threads;
    threads.start(
        [&] { require(pair.here->send(from, kPatience).bytes == kLong, "a send failed"); });
    for (std::size_t done = 0; done < kLong;) {
      const Result result = pair.there->receive(into.subspan(done), kPatience);
      REQUIRE(result.status == Status::kOk);
      done += result.bytes;
    }
    threads.join();
    CHECK(are_from(place, into));
  }
  munmap(from.data(), kLong);
  munmap(into.data(), kLong);
}

TEST_CASE("a_sender_that_sleeps_is_woken_when_its_offer_was_read") {
  Domain domain;
  StreamPair pair(domain.pd, kZeroCopyStream);
  // Both sides have talked, so that the sender may expect to be woken by the next write.
  const std::byte one[1] = {byte_at(0)};
  std::byte answer[1];
  REQUIRE(pair.here->send(one, kPatience).bytes == 1);
  REQUIRE(pair.there->receive(answer, kPatience).bytes == 1);
  REQUIRE(pair.there->send(one, kPatience).bytes == 1);
  REQUIRE(pair.here->receive(answer, kPatience).bytes == 1);
  const std::vector<std::byte> bytes = bytes_from(1, kLong);
  std::vector<std::byte> into(kLong);
  // A sleep that nobody ends takes 100 ms.
  int late = 0;
  for (int round = 0; round < 10; ++round) {
    std::chrono::steady_clock::time_point sent{};
    Threads threads;
    threads.start([&] {
      require(pair.here->send(bytes, kPatience).bytes == kLong, "a send failed");
      sent = std::chrono::steady_clock::now();
    });
    std::this_thread::sleep_for(milliseconds(20));
    std::size_t done = 0;
    while (done < kLong)
      done += pair.there->receive(std::span(into).subspan(done), kPatience).bytes;
    const auto received = std::chrono::steady_clock::now();
    threads.join();
    late += sent - received > milliseconds(40);
  }
  CHECK(late < 5);
}
