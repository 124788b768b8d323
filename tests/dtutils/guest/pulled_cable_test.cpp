// SPDX-License-Identifier: MIT
// A cable is pulled while traffic flows: all that is pending ends in words and in time.
#include <atomic>
#include <thread>

#include "dtutils/transmitter.hpp"
#include "guest.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/require.hpp"
#include "support/side.hpp"
#include "support/threads.hpp"

using namespace dtutils;
using namespace support;
using guest::PulledCable;

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kGone =
    "transport retry counter exceeded: the peer or the path to it is gone";

/// A connection from one device of the guest to the other, over both cables.
struct Link {
  explicit Link(const SideOptions& options = {}) : a(*near, options), b(*far, options) {
    connect(a.qp, b.qp);
  }

  std::unique_ptr<Device> near = open_device("rxe0");
  std::unique_ptr<Device> far = open_device("rxe1");
  Side a;
  Side b;
};

/// How a stream of requests went, and when its last completion came.
struct Stream {
  std::atomic<std::uint64_t> succeeded{0};
  std::vector<ibv_wc> failed;
  Clock::time_point end;
};

/// Keeps up to 32 requests in flight until one has failed, and then takes all that are pending.
template <class Request>
void run(Stream& stream, Side& side, Request request) {
  const auto limit = Clock::now() + kPatience;
  std::uint64_t pending = 0;
  while (stream.failed.empty() || pending > 0) {
    require(Clock::now() < limit, "a request neither succeeded nor failed");
    if (stream.failed.empty() && pending < 32 && request() == PostResult::kOk) ++pending;
    ibv_wc completion{};
    if (side.sends.poll({&completion, 1}) == 0) {
      std::this_thread::yield();
      continue;
    }
    --pending;
    if (completion.status == IBV_WC_SUCCESS) {
      require(stream.failed.empty(), "no request succeeds after one that failed");
      ++stream.succeeded;
    } else {
      stream.failed.push_back(completion);
    }
  }
  stream.end = Clock::now();
}

/// The first failure names the cause, the others say that they follow from it.
void expect_words(const std::vector<ibv_wc>& failed) {
  REQUIRE(!failed.empty());
  CHECK(failed.front().status == IBV_WC_RETRY_EXC_ERR);
  CHECK_THAT(describe(failed.front()), contains(kGone));
  for (std::size_t i = 1; i < failed.size(); ++i) {
    CHECK_THAT(describe(failed[i]), contains("flushed: the queue pair was already broken"));
  }
}

/// Pulls the cable of `device` in the middle of a stream of `request` from `side`.
template <class Request>
void pull_in_a_stream(Side& side, std::string_view device, Request request) {
  Stream stream;
  Threads threads;
  threads.start([&] { run(stream, side, request); });
  REQUIRE(eventually([&] { return stream.succeeded > 100; }));
  const PulledCable cable(device);
  const auto pulled = Clock::now();
  threads.join();
  CHECK(stream.end - pulled < failure_limit(side.qp.device()));
  expect_words(stream.failed);
  CHECK(side.qp.state() == IBV_QPS_ERR);
}

}  // namespace

TEST_CASE("writes_end_in_words_when_the_own_cable_is_pulled") {
  if (!guest::inside()) return;
  Link link;
  pull_in_a_stream(link.a, "rxe0", [&] {
    return link.a.qp.post_write(link.a.local(0, 4096), link.b.remote(0, 4096), 1, kSignaled);
  });
}

TEST_CASE("reads_and_atomics_end_in_words_when_the_peers_cable_is_pulled") {
  if (!guest::inside()) return;
  Link link;
  pull_in_a_stream(link.a, "rxe1", [&, turn = 0]() mutable {
    if (++turn % 2 == 0) {
      return link.a.qp.post_fetch_and_add(link.a.local(0, 8), link.b.remote(0, 8), 1, 1, kSignaled);
    }
    return link.a.qp.post_read(link.a.local(64, 2048), link.b.remote(64, 2048), 1, kSignaled);
  });
}

TEST_CASE("both_sides_of_a_conversation_learn_that_the_path_is_gone") {
  if (!guest::inside()) return;
  Link link;
  for (Side* side : {&link.a, &link.b}) {
    for (std::uint64_t i = 0; i < 200; ++i) must(side->qp.post_receive(side->local(0, 64), i));
  }
  // Nobody waits for an answer: a side that has nothing under way would not notice anything.
  const auto talk = [](Side& side, Stream& stream) {
    run(stream, side, [&] {
      ibv_wc arrived{};
      if (side.receives.poll({&arrived, 1}) == 1 && arrived.status == IBV_WC_SUCCESS) {
        // Refused only when the pair is broken, which the stream will see.
        static_cast<void>(side.qp.post_receive(side.local(0, 64), arrived.wr_id));
      }
      return side.qp.post_send(side.local(64, 64), 1, kSignaled);
    });
  };
  Stream from_a;
  Stream from_b;
  Threads threads;
  threads.start([&] { talk(link.a, from_a); });
  threads.start([&] { talk(link.b, from_b); });
  REQUIRE(eventually([&] { return from_a.succeeded > 100 && from_b.succeeded > 100; }));
  const PulledCable cable("rxe0");
  const auto pulled = Clock::now();
  threads.join();
  for (Stream* stream : {&from_a, &from_b}) {
    CHECK(stream->end - pulled < failure_limit(*link.near));
    expect_words(stream->failed);
  }
  // Receives belong to the broken queue pairs, and end with them.
  for (Side* side : {&link.a, &link.b}) {
    ibv_wc completion = next_completion(side->receives);
    while (completion.status == IBV_WC_SUCCESS) completion = next_completion(side->receives);
    CHECK(completion.status == IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_CASE("send_that_waits_for_a_receive_ends_in_words") {
  if (!guest::inside()) return;
  Link link;
  must(link.a.qp.post_send(link.a.local(0, 8), 1, kSignaled));
  CHECK(stays_empty(link.a.sends));
  const PulledCable cable("rxe1");
  expect_words({failure(link.a.sends, 1, failure_limit(*link.near))});
}

TEST_CASE("sleeping_sender_is_woken_when_the_path_is_gone") {
  if (!guest::inside()) return;
  Link link;
  const PulledCable cable("rxe0");
  REQUIRE(link.a.sends.arm());
  must(link.a.qp.post_write(link.a.local(0, 8), link.b.remote(0, 8), 1, kSignaled));
  CHECK(link.a.send_channel.wait(failure_limit(*link.near)) == link.a.sends.raw());
  expect_words({failure(link.a.sends, 1)});
}

TEST_CASE("transmitter_breaks_and_its_synchronizers_fail") {
  if (!guest::inside()) return;
  const auto near = open_device("rxe0");
  const auto far = open_device("rxe1");
  Side a(*near);
  Side b(*far);
  Transmitter transmitter(a.pd, a.receives, TransmitterOptions::for_threads(1));
  transmitter.connect(b.qp.endpoint());
  b.qp.connect(transmitter.endpoint());
  const auto write = [&](PostOptions how) {
    return transmitter.write(a.local(0, 256), b.remote(0, 256), how);
  };
  for (int i = 0; i < 100; ++i) REQUIRE(write(kUnsignaled));
  REQUIRE(transmitter.flush(kPatience));

  const PulledCable cable("rxe0");
  const auto pulled = Clock::now();
  Synchronizer sent(10);
  for (int i = 0; i < 10; ++i) CHECK(write(sent));
  CHECK(transmitter.wait(sent, kPatience) == Synchronizer::Outcome::kFailed);
  CHECK(Clock::now() - pulled < failure_limit(*near));
  CHECK(sent.failures() == 10);
  CHECK(transmitter.broken());
  CHECK_FALSE(transmitter.flush(kPatience));
  CHECK_FALSE(write(kUnsignaled));
  REQUIRE(transmitter.error());
  CHECK_THAT(describe(*transmitter.error()), contains(kGone));
}

TEST_CASE("device_without_a_cable_is_listed_as_down_and_not_opened") {
  if (!guest::inside()) return;
  const PulledCable cable("rxe1");
  const std::vector<DeviceEntry> devices = list_devices();
  REQUIRE(devices.size() == 3);
  CHECK(devices[0].usable);
  CHECK_FALSE(devices[1].usable);
  CHECK_THAT(devices[1].note, contains("port 1 down"));
  CHECK_THAT(error_text([] { open_device("rxe1"); }),
             contains("rxe1: no port is active: port 1 down") && contains("ip link set") &&
                 contains("check the cable"));
}

TEST_CASE("auto_passes_over_a_device_without_a_cable") {
  if (!guest::inside()) return;
  const PulledCable cable("rxe0");
  CHECK(open_device()->info().name == "rxe1");
}

TEST_CASE("short_interruption_is_bridged_by_retries") {
  if (!guest::inside()) return;
  SideOptions patient;
  // 4.096 us * 2^18 = 1.1 s for each try.
  patient.queue_pair.ack_timeout = 18;
  Link link(patient);
  PulledCable cable("rxe0");
  fill(link.a.bytes().first(4096), 3);
  must(link.a.qp.post_write(link.a.local(0, 4096), link.b.remote(0, 4096), 1, kSignaled));
  CHECK(stays_empty(link.a.sends, milliseconds(200)));
  cable.put_back();
  success(link.a.sends, 1);
  CHECK(holds(link.b.bytes().first(4096), 3));
}

TEST_CASE("new_queue_pairs_work_once_the_cable_is_back") {
  if (!guest::inside()) return;
  Link link;
  {
    const PulledCable cable("rxe0");
    must(link.a.qp.post_write(link.a.local(0, 8), link.b.remote(0, 8), 1, kSignaled));
    failure(link.a.sends, 1);
  }
  Side c(*link.near);
  Side d(*link.far);
  connect(c.qp, d.qp);
  c.at<std::uint64_t>(0) = 7;
  must(c.qp.post_write(c.local(0, 8), d.remote(0, 8), 2, kSignaled));
  success(c.sends, 2);
  CHECK(d.at<std::uint64_t>(0) == 7);
}
