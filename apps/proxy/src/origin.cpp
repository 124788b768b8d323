// SPDX-License-Identifier: MIT
// Sends requests to the origin and reads its responses, which it does not trust.
#include "proxy/origin.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace proxy {
namespace {

/// An origin that sends more interim responses before one final one is refused.
constexpr std::size_t kMaxInterim = 16;

}  // namespace

OriginConnection::OriginConnection(Context& context, OriginPool& pool, Socket socket)
    : context_(context), pool_(pool), socket_(std::move(socket)), events_(EPOLLOUT) {
  context_.poller.add(socket_.fd(), events_, *this);
}

void OriginConnection::start(ResponseSink& sink, std::string_view request, bool to_head,
                             bool more) {
  sink_ = &sink;
  to_head_ = to_head;
  more_ = more;
  out_.assign(request);
  out_sent_ = 0;
  interims_ = 0;
  broken_ = false;
  in_.clear();
  scanner_.reset();
  decoder_ = {};
  const bool connecting = state_ == State::kConnecting;
  deadline_ =
      context_.steady +
      (connecting ? context_.options.connect_timeout : context_.options.origin_timeout).count();
  ++context_.metrics.origin_requests;
  if (connecting) return;
  used_before_ = true;
  state_ = State::kHead;
  flush();
}

void OriginConnection::send(std::string_view bytes) {
  if (broken_) return;
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  }
  out_.append(bytes);
  if (state_ != State::kConnecting) flush();
}

void OriginConnection::want_more() {
  if (!gone()) watch();
}

void OriginConnection::give_up() {
  sink_ = nullptr;
  close();
}

void OriginConnection::ready(std::uint32_t events) {
  if (gone()) return;
  if (state_ == State::kConnecting) {
    if (const int error = error_of(socket_); error != 0) {
      return fail(502, "the origin cannot be reached");
    }
    if ((events & EPOLLOUT) == 0) return;
    state_ = State::kHead;
    deadline_ = context_.steady + context_.options.origin_timeout.count();
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
  if (!gone() && (events & EPOLLOUT) != 0) flush();
}

void OriginConnection::flush() {
  const bool waited = unsent() != 0;
  while (unsent() != 0) {
    const ssize_t sent = ::send(socket_.fd(), out_.data() + out_sent_, unsent(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      // An origin that takes no more may have answered all the same: reading tells.
      broken_ = true;
      out_sent_ = out_.size();
      break;
    }
    out_sent_ += static_cast<std::size_t>(sent);
    deadline_ = context_.steady + context_.options.origin_timeout.count();
  }
  if (out_sent_ > (std::size_t{64} << 10)) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
  watch();
  if (waited && unsent() == 0 && sink_ != nullptr) sink_->on_sent();
}

void OriginConnection::watch() {
  if (gone() || state_ == State::kConnecting) return;
  std::uint32_t events = 0;
  if (state_ != State::kBody || sink_ == nullptr || sink_->wants_body()) events |= EPOLLIN;
  if (unsent() != 0) events |= EPOLLOUT;
  if (events == events_) return;
  // The time of a silent origin begins when it may speak again.
  if ((events & ~events_ & EPOLLIN) != 0 && state_ == State::kBody) {
    deadline_ = context_.steady + context_.options.origin_timeout.count();
  }
  if (events == 0) {
    // Lest the loop turns for nothing when the origin breaks the connection meanwhile.
    context_.poller.remove(socket_.fd());
  } else if (events_ == 0) {
    context_.poller.add(socket_.fd(), events, *this);
  } else {
    context_.poller.change(socket_.fd(), events, *this);
  }
  events_ = events;
}

void OriginConnection::read() {
  if (state_ == State::kBody && !sink_->wants_body()) return;
  const ssize_t got = ::recv(socket_.fd(), context_.buffer.data(), context_.buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (state_ == State::kIdle) return close();
  if (got <= 0) {
    if (got == 0 && state_ == State::kBody && framing_.kind == Framing::Kind::kUntilClose) {
      keep_ = false;
      return end(true);
    }
    return fail(502, "the origin has ended the connection");
  }
  context_.metrics.bytes_from_origin += static_cast<std::uint64_t>(got);
  std::string_view input(context_.buffer.data(), static_cast<std::size_t>(got));
  if (state_ == State::kHead) {
    if (!take_head(input)) return;
  } else {
    deadline_ = context_.steady + context_.options.origin_timeout.count();
  }
  take_body(input);
  watch();
}

bool OriginConnection::take_head(std::string_view& input) {
  in_.append(input);
  for (;; ++interims_) {
    const auto result = scanner_.scan(in_);
    const bool done = result == HeadScanner::Result::kDone;
    if ((done ? scanner_.size() : in_.size()) > context_.options.max_head) {
      fail(502, "the head of the origin's response is too long");
      return false;
    }
    if (result == HeadScanner::Result::kNeedMore) return false;
    const std::size_t size = scanner_.size();
    const std::string_view head = std::string_view(in_).substr(0, size);
    if (!done || interims_ > kMaxInterim || !parse_response(head, response_) ||
        !response_framing(response_, to_head_, framing_)) {
      fail(502, "the origin's response is not plain HTTP/1.1");
      return false;
    }
    scanner_.reset();
    if (response_.status == 101) {
      fail(502, "the origin changes to another protocol");
      return false;
    }
    if (response_.status >= 200) {
      // The head stays where it is while its views are used.
      input.remove_prefix(input.size() - (in_.size() - size));
      break;
    }
    // The proxy has answered the expectation of the request itself.
    if (response_.status != 100) sink_->on_interim(response_);
    in_.erase(0, size);
  }
  keep_ = keeps_alive(response_.fields, response_.minor_version);
  left_ = framing_.length;
  state_ = State::kBody;
  deadline_ = context_.steady + context_.options.origin_timeout.count();
  if (!sink_->on_head(response_, framing_)) {
    if (sink_ != nullptr) give_up();
    return false;
  }
  return true;
}

void OriginConnection::take_body(std::string_view input) {
  switch (framing_.kind) {
    case Framing::Kind::kNone:
      return end(!input.empty());
    case Framing::Kind::kLength: {
      const std::string_view body = input.substr(0, std::min<std::uint64_t>(left_, input.size()));
      left_ -= body.size();
      if (!body.empty()) sink_->on_body(body);
      if (sink_ != nullptr && left_ == 0) end(input.size() != body.size());
      return;
    }
    case Framing::Kind::kUntilClose:
      if (!input.empty()) sink_->on_body(input);
      return;
    case Framing::Kind::kChunked:
      break;
  }
  for (std::string_view data; sink_ != nullptr;) {
    switch (decoder_.next(input, data)) {
      case ChunkedDecoder::Result::kData:
        sink_->on_body(data);
        break;
      case ChunkedDecoder::Result::kNeedMore:
        return;
      case ChunkedDecoder::Result::kDone:
        return end(!input.empty());
      case ChunkedDecoder::Result::kBad:
        return fail(502, "the origin's chunks are malformed");
    }
  }
}

void OriginConnection::end(bool doubtful) {
  ResponseSink* const sink = std::exchange(sink_, nullptr);
  // An origin that says more than it has announced, or that has not taken the whole request, is not
  // asked again by this connection.
  const bool whole = !more_ && !broken_ && unsent() == 0;
  if (keep_ && !doubtful && whole && !context_.draining) {
    state_ = State::kIdle;
    deadline_ = context_.steady + context_.options.idle_timeout.count();
    pool_.keep(*this);
    watch();
  } else {
    close();
  }
  sink->on_end(doubtful);
}

void OriginConnection::fail(int status, std::string_view why) {
  const bool unread = used_before_ && state_ == State::kHead && in_.empty();
  ResponseSink* const sink = std::exchange(sink_, nullptr);
  ++context_.metrics.origin_failures;
  close();
  if (sink != nullptr) sink->on_failure(status, why, unread);
}

void OriginConnection::check_deadline() {
  if (gone() || deadline_ == 0 || context_.steady < deadline_) return;
  if (state_ == State::kIdle) return close();
  // It is the clients who are slow.
  if (state_ == State::kBody && !sink_->wants_body()) return;
  fail(504, state_ == State::kConnecting ? "the origin cannot be reached in time"
                                         : "the origin does not answer in time");
}

void OriginConnection::close() {
  if (gone()) return;
  socket_.close();
  pool_.closed(*this);
}

}  // namespace proxy
