// SPDX-License-Identifier: MIT
// Refusals of what a software device does not grant.
#include "software/limits.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <optional>

#include "dtutils/error.hpp"
#include "software/protection.hpp"

namespace dtutils::software {

void check_registration(std::string_view device, void* address, std::size_t length, int access,
                        bool looks_at_pages) {
  const auto refuse = [&](const char* happened, const char* remedy, int code) {
    throw Error(fmt::format("{} memory region [{}, +{})", device, address, length), happened,
                remedy, code);
  };
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  constexpr int kOffered = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & ~kOffered) != 0) {
    refuse("an access flag was given that is not offered",
           "use IBV_ACCESS_LOCAL_WRITE, _REMOTE_WRITE, _REMOTE_READ and _REMOTE_ATOMIC", EINVAL);
  }
  if (length == 0 || begin + length < begin) {
    refuse("the range is empty or wraps around", "register at least one byte", EINVAL);
  }
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    refuse("remote write or atomic access was requested without local write",
           "add IBV_ACCESS_LOCAL_WRITE, as ibv_reg_mr(3) demands", EINVAL);
  }
  if (!looks_at_pages) return;
  const std::optional<int> granted = protection_of(address, length);
  if (!granted) {
    refuse("a part of the range is not mapped in this process",
           "check the length; register memory that has been allocated", EFAULT);
  }
  if ((*granted & PROT_READ) == 0) {
    refuse("a part of the range may not be read (mprotect, PROT_NONE)",
           "register memory that this process can read", EFAULT);
  }
  if ((access & IBV_ACCESS_LOCAL_WRITE) != 0 && (*granted & PROT_WRITE) == 0) {
    refuse("a part of the range is mapped read-only",
           "leave out IBV_ACCESS_LOCAL_WRITE and the rights that need it, or map it writable",
           EFAULT);
  }
}

void check_queue_pair(std::string_view device, const ibv_qp_init_attr& attributes) {
  const std::string object = fmt::format("{} queue pair", device);
  const ibv_qp_cap& cap = attributes.cap;
  const bool receives = attributes.srq == nullptr;
  if (attributes.qp_type != IBV_QPT_RC) {
    throw Error(object, "a type other than IBV_QPT_RC was requested", "use a reliable connection",
                EOPNOTSUPP);
  }
  if (cap.max_send_wr < 1 || cap.max_send_wr > kMaxDepth ||
      (receives && cap.max_recv_wr > kMaxDepth) || cap.max_send_sge > kMaxScatterGather ||
      cap.max_recv_sge > kMaxScatterGather || cap.max_inline_data > kMaxInline) {
    throw Error(
        object, "more was requested than the device has",
        fmt::format("ask for 1 to {} work requests, at most {} elements and {} inline bytes",
                    kMaxDepth, kMaxScatterGather, kMaxInline),
        EINVAL);
  }
}

void check_completion_queue(std::string_view device, int depth) {
  if (depth >= 1 && static_cast<std::uint32_t>(depth) <= kMaxCompletions) return;
  throw Error(fmt::format("{} completion queue", device),
              fmt::format("a depth of {} was requested", depth),
              fmt::format("ask for 1 to {}", kMaxCompletions), EINVAL);
}

void check_shared_receive_queue(std::string_view device, const ibv_srq_attr& asked) {
  if (asked.max_wr >= 1 && asked.max_wr <= kMaxDepth && asked.max_sge <= kMaxScatterGather) return;
  throw Error(
      fmt::format("{} shared receive queue", device),
      fmt::format("{} receives of {} elements were requested", asked.max_wr, asked.max_sge),
      fmt::format("ask for 1 to {} receives of at most {} elements", kMaxDepth, kMaxScatterGather),
      EINVAL);
}

}  // namespace dtutils::software
