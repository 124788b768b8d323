// SPDX-License-Identifier: MIT
// Gathers text and bodies into one system call.
#include "proxy/output.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace proxy {
namespace {

constexpr std::size_t kVectors = 16;
/// Text that was sent and is kept in front of what was not, at most.
constexpr std::size_t kMaxSentText = 64 << 10;
/// Memory for text that an empty output keeps.
constexpr std::size_t kKeptText = 64 << 10;

}  // namespace

void Output::share(DocumentPtr document, std::string_view bytes) {
  shared_.push_back({text_.size(), bytes, std::move(document)});
  shared_pending_ += bytes.size();
}

Output::Result Output::flush(int socket) noexcept {
  while (!empty()) {
    std::array<iovec, kVectors> vectors;
    std::size_t count = 0;
    const auto add = [&](std::string_view bytes) {
      if (bytes.empty()) return;
      vectors[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    };
    const std::string_view text = text_;
    std::size_t at = text_sent_, i = shared_sent_;
    for (; i < shared_.size() && count + 2 < kVectors; ++i) {
      add(text.substr(at, shared_[i].at - at));
      at = shared_[i].at;
      add(shared_[i].bytes);
    }
    if (i == shared_.size()) add(text.substr(at));
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? Result::kBlocked : Result::kFailed;
    }
    consume(static_cast<std::size_t>(sent));
  }
  return Result::kAllSent;
}

void Output::consume(std::size_t bytes) noexcept {
  sent_ += bytes;
  while (shared_sent_ < shared_.size()) {
    Shared& next = shared_[shared_sent_];
    const std::size_t before = std::min(bytes, next.at - text_sent_);
    text_sent_ += before;
    bytes -= before;
    if (text_sent_ < next.at) return;
    const std::size_t part = std::min(bytes, next.bytes.size());
    next.bytes.remove_prefix(part);
    bytes -= part;
    shared_pending_ -= part;
    if (!next.bytes.empty()) return;
    next.document.reset();
    ++shared_sent_;
  }
  text_sent_ += bytes;
  if (empty()) {
    shared_.clear();
    shared_sent_ = text_sent_ = 0;
    if (text_.capacity() > kKeptText) text_ = {};
    text_.clear();
  } else if (shared_sent_ == shared_.size() && text_sent_ > kMaxSentText) {
    shared_.clear();
    shared_sent_ = 0;
    text_.erase(0, text_sent_);
    text_sent_ = 0;
  }
}

}  // namespace proxy
