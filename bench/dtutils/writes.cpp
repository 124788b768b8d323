// SPDX-License-Identifier: MIT
// The measured loops of writes.
#include "bench/dtutils/writes.hpp"

#include <stdexcept>

#include "bench/dtutils/hand_signaling.hpp"

namespace link_bench {
namespace {

// One loop for both kinds of hand signaling, so that they differ in the post alone.
template <class Post>
void write_by_hand(Link& link, const Slots& slots, std::uint64_t posts, Post&& post) {
  const unsigned inlined = link.inline_flag(slots.size());
  const auto await = [&] { await_completion(link.sends); };
  HandSignaling signaling;
  for (std::uint64_t n = 0; n < posts; ++n) {
    const unsigned flags = inlined | signaling.next(await);
    post(n, slots.offset(n), flags);
  }
  signaling.drain(await);
}

void write_by_transmitter(Link& link, dtutils::Transmitter& transmitter, const Slots& slots,
                          std::uint64_t posts) {
  if (!transmit(link, transmitter, slots, posts, [](std::uint64_t n) { return n; }) ||
      !transmitter.flush()) {
    fail_transmitter(transmitter);
  }
}

}  // namespace

void write_by_queue_pair(Ends& ends, const Slots& slots, std::uint64_t posts) {
  Link& link = ends.link;
  const std::uint32_t size = slots.size();
  const dtutils::LocalBuffer outbox = link.from_outbox(0, size);
  const dtutils::RemoteMemoryLocator inbox = link.peer_inbox();
  write_by_hand(link, slots, posts, [&](std::uint64_t n, std::size_t offset, unsigned flags) {
    const dtutils::LocalBuffer from{static_cast<std::byte*>(outbox.address) + offset, size,
                                    outbox.lkey};
    require(link.qp.post_write(from, inbox.part(offset, size), n, flags));
  });
}

void write_raw(Ends& ends, const Slots& slots, std::uint64_t posts) {
  Link& link = ends.link;
  ibv_qp* qp = link.qp.raw();
  const std::uint32_t size = slots.size();
  const auto outbox = reinterpret_cast<std::uint64_t>(link.outbox());
  const std::uint32_t lkey = link.region.lkey();
  const dtutils::RemoteMemoryLocator inbox = link.peer_inbox();
  ibv_sge element{};
  ibv_send_wr request{};
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  write_by_hand(link, slots, posts, [&](std::uint64_t n, std::size_t offset, unsigned flags) {
    element.addr = outbox + offset;
    element.length = size;
    element.lkey = lkey;
    request.wr_id = n;
    request.send_flags = flags;
    request.wr.rdma.remote_addr = inbox.address + offset;
    request.wr.rdma.rkey = inbox.rkey;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp, &request, &bad) != 0) [[unlikely]] {
      fail_post(dtutils::PostResult::kInvalid);
    }
  });
}

void write_by_exclusive(Ends& ends, const Slots& slots, std::uint64_t posts) {
  write_by_transmitter(ends.link, ends.exclusive, slots, posts);
}

void write_by_shared(Ends& ends, const Slots& slots, std::uint64_t posts) {
  write_by_transmitter(ends.link, ends.shared, slots, posts);
}

void fail_transmitter(const dtutils::Transmitter& transmitter) {
  const auto error = transmitter.error();
  throw std::runtime_error("a Transmitter is broken: " +
                           (error ? dtutils::describe(*error) : "for an unknown reason"));
}

bench::Variant writing(const std::string& name, const EndsPtr& ends, const Slots& slots,
                       bench::Unit unit, const Write& write) {
  return {.name = name,
          .measure =
              [&ends, slots, unit, write](bench::Batch& batch) {
                const std::uint64_t posts = HandSignaling::posts_for(batch.iterations());
                ends->link.begin(slots);
                const double took_ns = batch.time_ns([&] { write(*ends, slots, posts); });
                ends->link.end(batch.channel());
                const double rate = static_cast<double>(posts) * 1e9 / took_ns;
                return unit == bench::Unit::kPerSecond ? rate : rate * slots.size();
              },
          .assist =
              [&ends, slots](bench::Batch& batch) {
                ends->link.inspect(batch.channel(), slots,
                                   HandSignaling::posts_for(batch.iterations()));
              }};
}

}  // namespace link_bench
