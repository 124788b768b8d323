// SPDX-License-Identifier: MIT
// Bytes that wait for a socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/document.hpp"

namespace proxy {

/// Text that is copied, and bodies of documents that are not, in their order. One thread.
class Output {
 public:
  enum class Result { kAllSent, kBlocked, kFailed };

  /// To write at the end of.
  std::string& text() noexcept { return text_; }
  void append(std::string_view bytes) { text_.append(bytes); }
  /// `bytes` are in the document, which stays until they are sent.
  void share(DocumentPtr document, std::string_view bytes);

  /// Sends what the socket takes.
  Result flush(int socket) noexcept;
  std::size_t pending() const noexcept { return text_.size() - text_sent_ + shared_pending_; }
  bool empty() const noexcept { return pending() == 0; }
  /// Sent since the beginning.
  std::uint64_t sent() const noexcept { return sent_; }

 private:
  struct Shared {
    /// Of the text, what comes before.
    std::size_t at;
    std::string_view bytes;
    DocumentPtr document;
  };
  void consume(std::size_t bytes) noexcept;

  std::string text_;
  std::size_t text_sent_ = 0;
  std::vector<Shared> shared_;
  std::size_t shared_sent_ = 0;
  std::size_t shared_pending_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace proxy
