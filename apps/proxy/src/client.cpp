// SPDX-License-Identifier: MIT
// Reads requests, their bodies, and keeps time.
#include "proxy/client.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proxy/forwarding.hpp"
#include "proxy/text.hpp"

namespace proxy {
namespace {

/// How long a connection that is to be closed is read from, so that the client gets the last answer
/// instead of a reset.
constexpr std::int64_t kLingerMilliseconds = 2000;
/// Memory for input that a connection keeps.
constexpr std::size_t kKeptInput = 16 << 10;

std::size_t blank_lines(std::string_view text) noexcept {
  std::size_t size = 0;
  while (text.substr(size, 2) == "\r\n") size += 2;
  return size;
}

}  // namespace

Client::Client(Context& context, RequestHandler& handler, Socket socket, bool admin)
    : context_(context),
      handler_(handler),
      socket_(std::move(socket)),
      address_(peer_of(socket_)),
      admin_(admin),
      events_(EPOLLIN) {
  context_.poller.add(socket_.fd(), events_, *this);
  set_deadline();
}

bool Client::idle() const noexcept {
  return state_ == State::kHead && unread().empty() && output_.empty();
}

void Client::ready(std::uint32_t events) {
  if (gone()) return;
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && (events & EPOLLIN) == 0)) {
    return close();
  }
  if ((events & EPOLLIN) != 0) read();
  if (!gone()) go_on();
}

void Client::read() {
  if (state_ == State::kLingering) return discard();
  if (!wants_input()) return;
  const ssize_t got = ::recv(socket_.fd(), context_.buffer.data(), context_.buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return close();
  if (got == 0) {
    // It has said all; what it has asked for before is still answered.
    eof_ = true;
    if (upload_open()) refuse_upload(400, "the body of the request ends too early");
    return;
  }
  in_.append(context_.buffer.data(), static_cast<std::size_t>(got));
  if (upload_open()) set_deadline();
}

void Client::discard() {
  for (int rounds = 0; rounds < 16; ++rounds) {
    const ssize_t got = ::recv(socket_.fd(), context_.buffer.data(), context_.buffer.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return close();
    if (got < 0) return;
  }
}

bool Client::wants_input() const noexcept {
  if (state_ == State::kLingering) return true;
  if (eof_) return false;
  if (state_ == State::kHead) {
    return unread().size() <= context_.options.max_head && output_.pending() < kEnoughPending;
  }
  return upload_open() && source_ != nullptr && source_->takes_upload();
}

void Client::go_on() {
  for (;;) {
    const std::uint64_t before = output_.sent();
    if (upload_open() && source_ != nullptr) take_upload();
    if (gone()) return;
    pump();
    take_requests();
    if (gone() || !flush()) return;
    // What was sent makes room for more.
    if (!output_.empty() || output_.sent() == before) break;
  }
  if (eof_ && state_ == State::kHead && output_.empty()) return close();
  watch();
}

void Client::take_requests() {
  while (!gone() && state_ == State::kHead && output_.pending() < kEnoughPending) {
    if (!half_head_) in_used_ += blank_lines(unread());
    const std::string_view input = unread();
    const auto result = scanner_.scan(input);
    const std::size_t size = result == HeadScanner::Result::kDone ? scanner_.size() : input.size();
    if (size > context_.options.max_head) {
      request_ = {};
      refuse(431, "the head of the request is too long");
      break;
    }
    if (result == HeadScanner::Result::kNeedMore) break;
    if (result == HeadScanner::Result::kBad) {
      request_ = {};
      refuse(400, "a line ends without CR LF");
      break;
    }
    scanner_.reset();
    in_used_ += size;
    half_head_ = false;
    began_ = context_.steady;
    outcome = Outcome::kLocal;
    alone = begun_ = uploaded_ = false;
    upload_ = {};
    upload_seen_ = 0;
    decoder_ = {};
    int status = parse_request(input.substr(0, size), request_);
    if (status == 0) status = request_framing(request_, upload_);
    if (status != 0) {
      refuse(status, "the request is not plain HTTP/1.1");
      break;
    }
    keep_alive_ = !context_.draining && keeps_alive(request_.fields, request_.minor_version);
    if (upload_.kind == Framing::Kind::kLength &&
        upload_.length > context_.options.max_request_body) {
      refuse(413, "the body of the request is too long");
      break;
    }
    state_ = State::kAnswering;
    asked_ = true;
    handler_.serve(*this);
  }
  if (in_used_ != 0) {
    in_.erase(0, in_used_);
    in_used_ = 0;
    if (in_.empty() && in_.capacity() > kKeptInput) in_ = {};
  }
  if (state_ == State::kHead && output_.empty()) set_deadline();
}

void Client::refuse(int status, std::string_view why) {
  ++context_.metrics.refused;
  // Where the next request would begin is not known.
  keep_alive_ = false;
  in_used_ = in_.size();
  state_ = State::kAnswering;
  answer(status, why);
}

void Client::refuse_upload(int status, std::string_view why) {
  if (begun_ || source_ == nullptr) return abort();
  std::exchange(source_, nullptr)->leave(*this);
  outcome = Outcome::kLocal;
  refuse(status, why);
}

void Client::take_upload() {
  while (source_ != nullptr && upload_open() && source_->takes_upload()) {
    std::string_view input = unread(), data;
    if (upload_.kind == Framing::Kind::kLength) {
      data = input.substr(0, std::min<std::uint64_t>(input.size(), upload_.length - upload_seen_));
      if (data.empty()) break;
      input.remove_prefix(data.size());
    } else {
      const auto result = decoder_.next(input, data);
      if (result == ChunkedDecoder::Result::kBad) {
        return refuse_upload(400, "the chunks of the request are malformed");
      }
      in_used_ = in_.size() - input.size();
      if (result == ChunkedDecoder::Result::kNeedMore) break;
      uploaded_ = result == ChunkedDecoder::Result::kDone;
    }
    in_used_ = in_.size() - input.size();
    upload_seen_ += data.size();
    if (upload_seen_ > context_.options.max_request_body) {
      return refuse_upload(413, "the body of the request is too long");
    }
    if (upload_.kind == Framing::Kind::kLength) uploaded_ = upload_seen_ == upload_.length;
    if (!data.empty()) source_->upload(data);
    if (uploaded_ && source_ != nullptr) source_->upload_ended();
  }
  in_.erase(0, in_used_);
  in_used_ = 0;
}

const std::shared_ptr<const HeldRequest>& Client::hold() {
  if (held_) return held_;
  auto held = std::make_shared<HeldRequest>();
  // The head is what was taken off the input last.
  const auto begin = static_cast<std::size_t>(request_.method_name.data() - in_.data());
  held->head.assign(in_, begin, in_used_ - begin);
  (void)parse_request(held->head, held->request);
  held_ = std::move(held);
  return held_;
}

void Client::wait_for(Source& source) {
  (void)hold();
  source_ = &source;
  if (upload_open() && upload_seen_ == 0 && request().minor_version >= 1 && unread().empty() &&
      same_text(request().fields.first(FieldId::kExpect), "100-continue")) {
    output_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void Client::set_deadline() noexcept {
  const Options& options = context_.options;
  std::chrono::milliseconds time{0};
  if (state_ == State::kLingering) return;
  if (!output_.empty() || upload_open()) {
    time = options.client_timeout;
  } else if (state_ == State::kHead) {
    // The time of a head begins with its first byte, and further bytes do not prolong it.
    if (!unread().empty() && half_head_) return;
    half_head_ = !unread().empty();
    time = half_head_ ? options.head_timeout : options.idle_timeout;
  } else {
    deadline_ = 0;
    return;
  }
  deadline_ = context_.steady + time.count();
}

void Client::check_deadline() {
  if (gone() || deadline_ == 0 || context_.steady < deadline_) return;
  if (state_ == State::kLingering || idle()) return close();
  ++context_.metrics.timeouts;
  if (state_ != State::kHead || !output_.empty()) return abort();
  request_ = {};
  refuse(408, "the request took too long");
  go_on();
}

void Client::drain() {
  keep_alive_ = false;
  // A request that has come meanwhile is answered; closed unread it would be a reset.
  if (idle()) ready(EPOLLIN);
  if (!gone() && idle()) close();
}

void Client::watch() {
  std::uint32_t events = 0;
  if (wants_input()) events |= EPOLLIN;
  if (!output_.empty()) events |= EPOLLOUT;
  if (events == events_) return;
  events_ = events;
  context_.poller.change(socket_.fd(), events, *this);
}

bool Client::flush() {
  if (!output_.empty()) {
    const std::uint64_t before = output_.sent();
    const Output::Result result = output_.flush(socket_.fd());
    context_.metrics.bytes_to_clients += output_.sent() - before;
    if (result == Output::Result::kFailed) {
      close();
      return false;
    }
    if (output_.sent() != before || deadline_ == 0) set_deadline();
  }
  if (state_ == State::kClosing && output_.empty()) linger();
  return true;
}

void Client::linger() {
  (void)::shutdown(socket_.fd(), SHUT_WR);
  state_ = State::kLingering;
  deadline_ = context_.steady + kLingerMilliseconds;
}

void Client::close() {
  if (gone()) return;
  if (source_ != nullptr) std::exchange(source_, nullptr)->leave(*this);
  socket_.close();
  handler_.closed(*this);
}

void Client::abort() {
  if (gone()) return;
  if (source_ != nullptr) std::exchange(source_, nullptr)->leave(*this);
  if (!output_.empty()) (void)output_.flush(socket_.fd());
  socket_.reset();
  handler_.closed(*this);
}

}  // namespace proxy
