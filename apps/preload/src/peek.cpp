// SPDX-License-Identifier: MIT
// How a receive that leaves the bytes looks again, and into several buffers.
#include "peek.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "call.hpp"
#include "call_memory.hpp"
#include "connection.hpp"
#include "descriptor_table.hpp"
#include "kernel_socket.hpp"
#include "transfer.hpp"

namespace preload {
namespace {

/// Between the looks of who peeks until all is there: nanoseconds, at first and at most.
constexpr long kPeekPause = 50'000;
constexpr long kLongestPeekPause = 2'000'000;
/// No connection has more bytes than that to look at.
constexpr std::size_t kLongestPeek = std::size_t{1} << 23;

}  // namespace

ssize_t peek_all(int fd, std::span<const iovec> parts, int flags) {
  Call call(fd, flags, POLLIN);
  for (timespec pause{0, kPeekPause};;
       pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestPeekPause)) {
    Buffers buffers(parts);
    {
      auto connection = table().lock<Connection>(fd);
      if (!connection) return go_on_with_kernel(fd, buffers, flags, false);
      // Before the look: then it has seen all that the peer has sent.
      const bool has_all = levels(fd, POLLRDHUP) != 0;
      const int code = connection->try_receive(fd, buffers, flags);
      if (code != 0 && code != EAGAIN) return answer(0, code);
      if (buffers.empty() || (code == 0 && (has_all || buffers.done() == 0)))
        return answer(buffers.done(), 0);
      call.learn(*connection);
      // So that the peer has space for the rest.
      connection->receive_ahead();
    }
    const int code = call.pause(pause, buffers.done() != 0);
    if (code != 0) return answer(buffers.done(), code);
  }
}

ssize_t peek_parts(int fd, std::span<const iovec> parts, int flags) {
  CallMemory memory;
  std::pmr::vector<std::byte> all(std::min(length_of(parts), kLongestPeek), memory.get());
  const iovec whole{all.data(), all.size()};
  const ssize_t bytes = receive(fd, std::span(&whole, 1), flags);
  std::size_t left = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  const std::byte* from = all.data();
  for (const iovec& part : parts) {
    const std::size_t piece = std::min(left, part.iov_len);
    if (piece != 0) std::memcpy(part.iov_base, from, piece);
    from += piece;
    left -= piece;
  }
  return bytes;
}

}  // namespace preload
