// SPDX-License-Identifier: MIT
// How long one operation takes: write, send, read, fetch-and-add, and UCX's put.
#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "bench/dtutils/cases.hpp"
#include "bench/dtutils/hand_signaling.hpp"
#include "bench/dtutils/ucx.hpp"
#include "bench/dtutils/writes.hpp"
#include "dtutils/device_memory.hpp"
#include "dtutils/wait.hpp"

namespace link_bench {
namespace {

std::uint64_t* word_at(std::byte* address) noexcept {
  return reinterpret_cast<std::uint64_t*>(address);
}

// Ping-pongs: process 0 starts each round, process 1 answers; both call this with the same number
// of rounds, a multiple of HandSignaling::kEvery. The last 8 bytes of a payload are a counter,
// which tells the receiver that it has arrived. They return how long all rounds took, in ns.

double write_ping_pong(Link& link, bench::Batch& batch, std::uint32_t size, std::uint64_t rounds) {
  std::uint64_t* mine = word_at(link.outbox() + size - sizeof(std::uint64_t));
  const std::uint64_t* theirs = word_at(link.inbox() + size - sizeof(std::uint64_t));
  const dtutils::LocalBuffer from = link.from_outbox(0, size);
  const dtutils::RemoteMemoryLocator to = link.peer_inbox().part(0, size);
  const unsigned inlined = link.inline_flag(size);
  const bool starts = batch.rank() == 0;
  const auto await = [&] { await_completion(link.sends); };
  HandSignaling signaling;
  std::uint64_t beat = link.beats;
  const double took_ns = batch.time_ns([&] {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      ++beat;
      while (!starts && dtutils::load_device_word(theirs) != beat) {
        dtutils::cpu_pause();
      }
      *mine = beat;
      require(link.qp.post_write(from, to, beat, inlined | signaling.next(await)));
      while (starts && dtutils::load_device_word(theirs) != beat) {
        dtutils::cpu_pause();
      }
    }
  });
  signaling.drain(await);
  link.beats = beat;
  return took_ns;
}

double send_ping_pong(Link& link, bench::Batch& batch, std::uint32_t size, std::uint64_t rounds) {
  constexpr std::uint64_t kReceives = 16;
  std::uint64_t* mine = word_at(link.outbox() + size - sizeof(std::uint64_t));
  const dtutils::LocalBuffer from = link.from_outbox(0, size);
  const unsigned inlined = link.inline_flag(size);
  const Slots slots(size);
  const bool starts = batch.rank() == 0;
  const auto await = [&] { await_completion(link.sends); };
  HandSignaling signaling;
  std::uint64_t beat = link.beats;
  const auto post_receive = [&](std::uint64_t n) {
    require(link.qp.post_receive(link.into_inbox(slots.offset(n), size), n));
  };
  const auto receive = [&](std::uint64_t n) {
    await_completion(link.receives);
    if (*word_at(link.inbox() + slots.offset(n) + size - sizeof(beat)) != beat) {
      throw std::runtime_error("a message does not hold what was sent");
    }
    if (n + kReceives < rounds) post_receive(n + kReceives);
  };
  for (std::uint64_t n = 0; n < std::min(kReceives, rounds); ++n) post_receive(n);
  batch.channel().barrier();
  const double took_ns = batch.time_ns([&] {
    for (std::uint64_t n = 0; n < rounds; ++n) {
      ++beat;
      if (!starts) receive(n);
      *mine = beat;
      require(link.qp.post_send(from, beat, inlined | signaling.next(await)));
      if (starts) receive(n);
    }
  });
  signaling.drain(await);
  link.beats = beat;
  return took_ns;
}

bench::Variant one_way(const EndsPtr& ends, const char* name, std::uint32_t size,
                       double (*ping_pong)(Link&, bench::Batch&, std::uint32_t, std::uint64_t)) {
  const auto run = [=, &ends](bench::Batch& batch) {
    const std::uint64_t rounds = HandSignaling::posts_for(batch.iterations());
    return ping_pong(ends->link, batch, size, rounds) / static_cast<double>(2 * rounds);
  };
  return {.name = name, .measure = run, .assist = run};
}

double read_latency(Link& link, bench::Batch& batch, std::uint32_t size) {
  const dtutils::LocalBuffer local = link.from_outbox(0, size);
  const dtutils::RemoteMemoryLocator remote = link.peer_inbox().part(0, size);
  constexpr std::byte kContent{0x5a};
  std::memset(link.outbox(), static_cast<int>(kContent), size);
  require(link.qp.post_write(local, remote, 0, dtutils::kSignaled));
  await_completion(link.sends);
  std::memset(link.outbox(), 0, size);
  const double ns = batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      require(link.qp.post_read(local, remote, i, dtutils::kSignaled));
      await_completion(link.sends);
    }
  });
  const std::span arrived(link.outbox(), size);
  if (std::ranges::any_of(arrived, [](std::byte byte) { return byte != kContent; })) {
    throw std::runtime_error("a read did not bring what the peer's memory holds");
  }
  return ns;
}

// `add(target)` adds 1 and answers the value before.
template <class Add>
double fetch_add_latency(Link& link, bench::Batch& batch, Add&& add) {
  if (!link.device->info().atomics) throw bench::Skip("the device has no atomics");
  const dtutils::RemoteMemoryLocator target = link.peer_inbox().part(0, sizeof(std::uint64_t));
  std::uint64_t expected = add(target);
  return batch.ns_each([&] {
    for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
      if (add(target) != ++expected) throw std::runtime_error("a fetch-and-add got lost");
    }
  });
}

double fetch_add(Link& link, bench::Batch& batch) {
  const dtutils::LocalBuffer old_value = link.from_outbox(0, sizeof(std::uint64_t));
  return fetch_add_latency(link, batch, [&](const dtutils::RemoteMemoryLocator& target) {
    require(link.qp.post_fetch_and_add(old_value, target, 1, 0, dtutils::kSignaled));
    await_completion(link.sends);
    return dtutils::load_device_word(word_at(link.outbox()));
  });
}

double fetch_add_blocking(Ends& ends, bench::Batch& batch) {
  return fetch_add_latency(ends.link, batch, [&](const dtutils::RemoteMemoryLocator& target) {
    const auto old_value = ends.exclusive.blocking_fetch_and_add(target, 1);
    if (!old_value) fail_transmitter(ends.exclusive);
    return *old_value;
  });
}

}  // namespace

void add_latency_cases(bench::Suite& suite, const EndsPtr& ends) {
  suite.add({.name = "write_latency_vs_cacheline",
             .size = 8,
             .variants = {one_way(ends, "write", 8, write_ping_pong)},
             .ratios = {{.over = "write", .under = bench::kHalfRoundTrip, .bar = "<= 1.3"}}});
  for (const std::uint32_t size : {8, 64, 256, 4096}) {
    suite.add(
        {.name = "write_latency_vs_ucx",
         .size = size,
         .variants = {one_way(ends, "write", size, write_ping_pong), ucx_put_latency(ends, size)},
         .ratios = {{.over = "write", .under = "ucx_put", .bar = size <= 64 ? "<= 1.05" : ""}}});
  }
  for (const std::uint32_t size : {8, 64, 256, 4096}) {
    suite.add({.name = "send_latency",
               .size = size,
               .variants = {one_way(ends, "send", size, send_ping_pong)}});
  }
  for (const std::uint32_t size : {8, 64, 256, 4096}) {
    suite.add({.name = "read_latency",
               .size = size,
               .variants = {{.name = "read", .measure = [&ends, size](bench::Batch& batch) {
                               return read_latency(ends->link, batch, size);
                             }}}});
  }
  suite.add(
      {.name = "fetch_add",
       .size = 8,
       .variants =
           {{.name = "blocking",
             .measure = [&ends](bench::Batch& batch) { return fetch_add_blocking(*ends, batch); }},
            {.name = "queue_pair",
             .measure = [&ends](bench::Batch& batch) { return fetch_add(ends->link, batch); }}},
       .ratios = {{.over = "blocking", .under = "queue_pair", .bar = "<= 1.3"}}});
}

}  // namespace link_bench
