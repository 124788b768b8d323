// SPDX-License-Identifier: MIT
// Queues and channels of the shm device that are destroyed while a queue pair uses them.
#include <fcntl.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/queue_pair_states.hpp"
#include "support/require.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

TEST_CASE("shm_completions_of_a_pair_whose_queue_was_destroyed_reach_no_other_queue") {
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  ibv_cq* destroyed = device->create_cq(64, nullptr);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = destroyed;
  wanted.recv_cq = a.receives.raw();
  wanted.cap = {16, 16, 1, 1, 0};
  ibv_qp* qp = make_connected(*device, a, b, wanted);

  device->destroy_cq(destroyed);
  // Takes the place of the one before, if that is free.
  CompletionQueue stranger(*device, 64);
  ibv_send_wr* bad = nullptr;
  dtutils::detail::WorkRequest request(IBV_WR_RDMA_WRITE, a.local(0, 8), 1, kSignaled);
  CHECK(ibv_post_send(qp, &request.at(b.remote(0, 8)).raw(), &bad) == 0);
  CHECK(stays_empty(stranger));
  device->destroy_qp(qp);
}

TEST_CASE("shm_event_of_a_destroyed_channel_reaches_no_file_of_the_program") {
  const auto device = open_shm_device({});
  Side a(*device);
  Side b(*device);
  ibv_comp_channel* channel = device->create_comp_channel();
  ibv_cq* queue = device->create_cq(64, channel);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = queue;
  wanted.recv_cq = queue;
  wanted.cap = {16, 16, 1, 1, 0};
  ibv_qp* qp = make_connected(*device, a, b, wanted);
  REQUIRE(ibv_req_notify_cq(queue, 0) == 0);

  const int number = channel->fd;
  device->destroy_comp_channel(channel);
  // Descriptors that are free again go to files of the program.
  CHECK(::fcntl(number, F_GETFD) != -1);
  ibv_send_wr* bad = nullptr;
  dtutils::detail::WorkRequest request(IBV_WR_RDMA_WRITE, a.local(0, 8), 1, kSignaled);
  CHECK(ibv_post_send(qp, &request.at(b.remote(0, 8)).raw(), &bad) == 0);
  ibv_wc completion{};
  CHECK(eventually([&] { return ibv_poll_cq(queue, 1, &completion) == 1; }));
  device->destroy_cq(queue);
  CHECK(::fcntl(number, F_GETFD) != -1);
  device->destroy_qp(qp);
  CHECK(::fcntl(number, F_GETFD) == -1);
}
