// SPDX-License-Identifier: MIT
// Cutting a stream into lines.
#include "output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace run {

Output::Output(int from, int to, std::string prefix)
    : from_(from), to_(to), prefix_(std::move(prefix)) {
  fcntl(from_, F_SETFL, fcntl(from_, F_GETFL) | O_NONBLOCK);
}

Output::Output(Output&& other) noexcept
    : from_(std::exchange(other.from_, -1)),
      to_(other.to_),
      prefix_(std::move(other.prefix_)),
      pending_(std::move(other.pending_)) {}

Output::~Output() { close_stream(); }

void Output::close_stream() {
  if (from_ >= 0) close(std::exchange(from_, -1));
}

void Output::forward() {
  char part[16384];
  for (;;) {
    const ssize_t got = read(from_, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      if (!pending_.empty() && !prefix_.empty()) pending_ += '\n';
      write_lines();
      return close_stream();
    }
    pending_.append(part, static_cast<std::size_t>(got));
    write_lines();
  }
}

void Output::write_lines() {
  if (prefix_.empty()) return write_all(to_, std::exchange(pending_, {}));
  std::string lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines += prefix_;
    lines.append(pending_, begin, end + 1 - begin);
  }
  pending_.erase(0, begin);
  write_all(to_, lines);
}

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put >= 0) {
      done += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      pollfd waiting{fd, POLLOUT, 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace run
