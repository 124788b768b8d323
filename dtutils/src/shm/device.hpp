// SPDX-License-Identifier: MIT
// The shm device's control path: the interface dtutils::Device over a control segment.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "dtutils/device.hpp"
#include "shm/agent.hpp"
#include "shm/post.hpp"
#include "shm/segment.hpp"

namespace dtutils::shm {

class ShmDevice final : public Device {
 public:
  explicit ShmDevice(const DeviceOptions& options);
  ~ShmDevice() override;

  ibv_pd* alloc_pd() override;
  void dealloc_pd(ibv_pd* pd) noexcept override;
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) override;
  void dereg_mr(ibv_mr* mr) noexcept override;
  ibv_comp_channel* create_comp_channel() override;
  void destroy_comp_channel(ibv_comp_channel* channel) noexcept override;
  ibv_cq* wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) override;
  ibv_cq* create_cq(int depth, ibv_comp_channel* channel) override;
  void destroy_cq(ibv_cq* cq) noexcept override;
  ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) override;
  void destroy_srq(ibv_srq* srq) noexcept override;
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) override;
  void destroy_qp(ibv_qp* qp) noexcept override;
  void modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int mask) override;
  ibv_qp_state qp_state(ibv_qp* qp) noexcept override;
  bool data_in_order(ibv_qp* qp, ibv_wr_opcode opcode) noexcept override;

  // Around fork(2). `abandon_in_child` is called in the child: everything here belongs to the
  // parent.
  void lock_for_fork();
  void unlock_after_fork();
  void abandon_in_child() noexcept;

 private:
  /// True in a child of the process that opened the device.
  bool in_child() const noexcept;
  // These wait until no sender is inside an operation that saw what the caller just closed; for
  // peers no longer than kStoppedPatience.
  void wait_for_own_senders() noexcept;
  /// `region` is kept from who still runs then.
  void wait_for_peers(const std::shared_ptr<void>& region) noexcept;
  /// Leaves it in `qp.outlives` when it still runs.
  void wait_for_peer(QueuePair& qp) noexcept;
  void reset(QueuePair& qp);
  void connect(QueuePair& qp, const ibv_qp_attr& attributes, int mask);
  void get_ready_to_send(QueuePair& qp, const ibv_qp_attr& attributes, int mask);
  /// Makes the attributes in `mask` hold. Under the send lock.
  static void take_over(QueuePair& qp, const ibv_qp_attr& attributes, int mask);
  void disconnect(QueuePair& qp);
  /// One user less; the last one ends it. Under the mutex.
  static void let_go(ibv_comp_channel* channel) noexcept;
  void let_go(ibv_cq* cq) noexcept;
  void let_go(ibv_srq* srq) noexcept;
  void forget_completions(QueuePair& qp) noexcept;
  /// A queue of the channel whose event was due and did not come, or nullptr. With the channel's
  /// mutex.
  static CompletionQueue* overlooked(const Channel& channel) noexcept;

  /// The last generation of an index; 0 before its first one. Under the mutex.
  static std::uint32_t& generation(std::vector<std::uint32_t>& all, std::uint32_t index) {
    if (index >= all.size()) all.resize(index + 1);
    return all[index];
  }

  const pid_t pid_;
  /// In a child that fork(2) has made; known without the kernel.
  std::atomic<bool> abandoned_{false};
  ibv_device verbs_device_{};
  ibv_context context_{};
  OwnSegment own_;
  Agent agent_;
  std::mutex mutex_;
  std::vector<CompletionQueue*> completion_queues_;
  std::vector<SharedReceiveQueue*> shared_receive_queues_;
  // Of the indices that were used.
  std::vector<std::uint32_t> region_generations_;
  std::vector<std::uint32_t> queue_pair_generations_;
  std::uint32_t next_pd_ = 0;
};

}  // namespace dtutils::shm
