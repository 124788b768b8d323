// SPDX-License-Identifier: MIT
// The control path of an RDMA device: open, register, create, connect. The data path is
// libibverbs'.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dtutils/adversary.hpp"

namespace dtutils {

class QueuePair;

/// Which implementation of Device it is.
enum class DeviceKind : std::uint8_t { kVerbs = 1, kShm = 2, kSim = 3 };

/// "verbs", "shm" or "sim".
const char* to_string(DeviceKind kind) noexcept;

/// What the user may fix; everything left empty is chosen, and `DeviceInfo::reason` says why.
struct DeviceOptions {
  /// Port number, from 1; empty: the first active one.
  std::optional<std::uint8_t> port;
  /// Index into the port's GID table; empty: the best one (RoCE v2 with an IPv4-mapped address
  /// first, then RoCE v2, then RoCE v1; index 0 on InfiniBand).
  std::optional<int> gid_index;
  /// Path MTU in bytes (256, 512, 1024, 2048 or 4096); empty: the port's active MTU.
  std::optional<int> mtu;
  /// shm only: the testing mode, see adversary.hpp. Empty: as CARIAMA_SHM_ADVERSARY says, else off.
  std::optional<Adversary> adversary;
};

/// What was opened and what it can do.
struct DeviceInfo {
  /// `shm`, or the name that libibverbs gives it.
  std::string name;
  /// Which implementation it is.
  DeviceKind kind;
  /// The port that was opened, from 1.
  std::uint8_t port;
  /// The port's local identifier on InfiniBand, else 0.
  std::uint16_t lid;
  /// Index into the port's GID table.
  int gid_index;
  /// The GID at that index.
  ibv_gid gid;
  /// The path MTU.
  ibv_mtu mtu;
  /// IBV_LINK_LAYER_INFINIBAND or IBV_LINK_LAYER_ETHERNET; IBV_LINK_LAYER_UNSPECIFIED for shm.
  int link_layer;
  /// Upper limits for what one object may ask for: requests in a send, receive or shared receive
  /// queue, elements of one request, inline bytes of one request, entries of a completion queue.
  std::uint32_t max_work_requests;
  /// Elements of one request.
  std::uint32_t max_scatter_gather;
  /// Found by trying (libibverbs cannot be asked), with kScatterGather elements; may be 0.
  std::uint32_t max_inline;
  /// Entries of a completion queue.
  std::uint32_t max_completions;
  /// Queue pairs that there may be at once, of all processes together on a verbs device.
  std::uint32_t max_queue_pairs;
  /// True when 8-byte compare-and-swap and fetch-and-add are offered.
  bool atomics;
  /// True when those are atomic also against the target's own CPU atomics (always so on shm).
  bool atomics_with_cpu;
  /// True when the bytes of one READ from memory of an allocator are fetched and appear ascending:
  /// each cache line after those before it, where `from` and `into` lie alike in their lines, and
  /// each element, and each READ or atomic, after those before it. libibverbs cannot be asked, so
  /// only shm promises it, except in the adversarial mode.
  bool reads_in_order = false;
  /// Same value in every process of this host and PID namespace.
  std::uint64_t host;
  /// Why this device, port, GID and MTU, in words.
  std::string reason;
};

/// One line of `list_devices`.
struct DeviceEntry {
  /// What open_device takes.
  std::string name;
  /// Which implementation it is.
  DeviceKind kind;
  /// True when `open_device(name)` can be expected to work now.
  bool usable;
  /// State in words: "port 1 active, RoCE v2", "no port is active", ...
  std::string note;
};

/// The interface between DTutils and a device: the calls of libibverbs' control path, with errors
/// as exceptions of type `Error`. Data goes through `ibv_post_send`, `ibv_post_recv`,
/// `ibv_post_srq_recv`, `ibv_poll_cq` and `ibv_req_notify_cq` on the objects made here: these reach
/// the device through `ibv_context::ops`, so no function of DTutils lies between the user and the
/// device.
///
/// Prefer the owning classes (ProtectionDomain, MemoryRegion, CompletionQueue, QueuePair, ...);
/// they call this one. Raw objects must be destroyed before their device, children first.
///
/// fork(2): the process that opened the device goes on undisturbed whatever its children do, as
/// long as they leave the device's objects alone. A child must exec(2) or end with _exit(2); it may
/// open a device of its own, but may neither use nor destroy what it inherited. On kernels
/// before 5.12 a verbs device also hides registered memory from the child (ibv_fork_init(3)), which
/// must not touch the pages that hold it.
///
/// All methods: any thread, setup only, unless they say otherwise.
class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// What was opened. Any thread, wait-free.
  const DeviceInfo& info() const noexcept { return info_; }
  /// How many objects of class QueuePair there are on it now, for tests and tools. Any thread,
  /// wait-free.
  std::uint32_t queue_pairs() const noexcept {
    return queue_pairs_.load(std::memory_order_relaxed);
  }

  /// As ibv_alloc_pd(3).
  virtual ibv_pd* alloc_pd() = 0;
  /// As ibv_dealloc_pd(3).
  virtual void dealloc_pd(ibv_pd* pd) noexcept = 0;

  /// Registers [address, address + length); `access` is made of IBV_ACCESS_LOCAL_WRITE,
  /// IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ and IBV_ACCESS_REMOTE_ATOMIC, where remote
  /// write and atomics require local write. Any other flag is refused, relaxed ordering among them:
  /// the layers above rely on writes of one queue pair becoming visible in order. On shm, memory
  /// of a `SharedSegment` (everything our allocators hand out) is reached by peers directly; other
  /// memory goes by process_vm_readv/writev and cannot be the target of remote atomics.
  virtual ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) = 0;
  /// Returns when no operation of a peer can touch the region any more.
  virtual void dereg_mr(ibv_mr* mr) noexcept = 0;

  /// As ibv_create_comp_channel(3). Its descriptor does not block on libibverbs devices.
  virtual ibv_comp_channel* create_comp_channel() = 0;
  /// As ibv_destroy_comp_channel(3).
  virtual void destroy_comp_channel(ibv_comp_channel* channel) noexcept = 0;
  /// Sleeps until an armed completion queue of the channel has an event, at most for `timeout`;
  /// returns that queue, or nullptr when the time is over. The event is acknowledged. Owner thread
  /// only. `channel->fd` can also be watched with poll(2) or epoll(7).
  virtual ibv_cq* wait_event(ibv_comp_channel* channel, std::chrono::milliseconds timeout) = 0;

  /// As ibv_create_cq(3); `channel` may be nullptr.
  virtual ibv_cq* create_cq(int depth, ibv_comp_channel* channel) = 0;
  /// As ibv_destroy_cq(3).
  virtual void destroy_cq(ibv_cq* cq) noexcept = 0;

  /// As ibv_create_srq(3).
  virtual ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr& attributes) = 0;
  /// As ibv_destroy_srq(3).
  virtual void destroy_srq(ibv_srq* srq) noexcept = 0;

  /// Reliable connected (IBV_QPT_RC) only. On return `attributes.cap` holds what was granted: at
  /// least what was asked, except inline bytes, of which a device grants what it has.
  virtual ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr& attributes) = 0;
  /// As ibv_destroy_qp(3).
  virtual void destroy_qp(ibv_qp* qp) noexcept = 0;
  /// As ibv_modify_qp(3). On shm the peer is named by `ah_attr.grh.dgid` and `dest_qp_num`. Verbs
  /// devices get at most 6 retries: to Soft-RoCE 7 means retries without end, and nothing may hang.
  virtual void modify_qp(ibv_qp* qp, ibv_qp_attr& attributes, int mask) = 0;
  /// The state as the device has it now: it turns to IBV_QPS_ERR when the device breaks the pair.
  virtual ibv_qp_state qp_state(ibv_qp* qp) noexcept = 0;

  /// True when the bytes of one message become visible at the target in ascending order
  /// (ibv_query_qp_data_in_order(3)); ask, do not assume.
  virtual bool data_in_order(ibv_qp* qp, ibv_wr_opcode opcode) noexcept = 0;

 protected:
  Device() = default;
  /// Filled in by the implementation.
  DeviceInfo info_{};

 private:
  /// Adds to `info_.reason` why `auto` came to this device.
  friend std::unique_ptr<Device> open_device(std::string_view, const DeviceOptions&);
  /// It counts itself.
  friend class QueuePair;
  std::atomic<std::uint32_t> queue_pairs_{0};
};

/// All devices of this machine; `shm` is always among them, last. Setup only.
std::vector<DeviceEntry> list_devices();

/// Opens a device by name (`shm`, `mlx5_0`, `rxe0`, ...) or `auto`: the device that the environment
/// variable CARIAMA_DEVICE names, else the first usable verbs device, else shm. A simulated thread
/// (simulation.hpp) gets the adapter of its node, `sim`, for `auto`. Throws Error: no
/// such device (the message lists those that exist), no permission, no active port, no usable GID,
/// an option that the device cannot satisfy. Setup only.
std::unique_ptr<Device> open_device(std::string_view name = "auto",
                                    const DeviceOptions& options = {});

/// Opens the shm device (shm/) or a libibverbs device (verbs/); used by open_device.
std::unique_ptr<Device> open_shm_device(const DeviceOptions& options);
/// Opens the adapter of the calling thread's simulated node (sim/); used by open_device.
std::unique_ptr<Device> open_sim_device(const DeviceOptions& options);
/// Opens a libibverbs device; used by open_device.
std::unique_ptr<Device> open_verbs_device(std::string_view name, const DeviceOptions& options);
/// The libibverbs devices; used by list_devices.
std::vector<DeviceEntry> list_verbs_devices();

}  // namespace dtutils
