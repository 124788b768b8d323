// SPDX-License-Identifier: MIT
// Connections to the origin, which are kept for further requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/chunked.hpp"
#include "proxy/framing.hpp"
#include "proxy/message.hpp"
#include "proxy/options.hpp"

namespace proxy {

/// Who takes the response to a request. Owner thread only.
class ResponseSink {
 public:
  /// An interim head (1xx) but for 100 and 101; its views hold during the call.
  virtual void on_interim(const Response& response) = 0;
  /// The final head; its views hold during the call. False: the rest is not wanted.
  virtual bool on_head(const Response& response, const Framing& framing) = 0;
  virtual void on_body(std::string_view bytes) = 0;
  /// The response has come to the end that its head has announced. `doubtful`: more came than that,
  /// or it ended with the connection, so nobody knows whether it is whole.
  virtual void on_end(bool doubtful) = 0;
  /// There will be no response, or not the rest of it: 502 or 504. `unread`: the connection had
  /// been used before, and ended without a byte of this response.
  virtual void on_failure(int status, std::string_view why, bool unread) = 0;
  /// What was to be sent has been taken.
  virtual void on_sent() = 0;
  /// False: nothing is read until want_more().
  virtual bool wants_body() const noexcept = 0;

 protected:
  ~ResponseSink() = default;
};

class OriginPool;

/// A connection to the origin. After the end or the failure of a response the sink has none any
/// more. Owner thread only.
class OriginConnection final : public Watched {
 public:
  OriginConnection(Context& context, OriginPool& pool, Socket socket);

  /// `more`: the body of the request follows by send(), up to request_ended().
  void start(ResponseSink& sink, std::string_view request, bool to_head, bool more);
  /// A part of the body of the request, framed.
  void send(std::string_view bytes);
  /// The origin has been given the whole request. Without this the connection is closed behind the
  /// response: the origin would take the next request for the rest of this one.
  void request_ended() noexcept { more_ = false; }
  /// Bytes that are not sent yet.
  std::size_t unsent() const noexcept { return out_.size() - out_sent_; }
  void want_more();
  /// The sink wants no more of it: it is closed.
  void give_up();
  void check_deadline();
  bool gone() const noexcept { return !socket_; }

  void ready(std::uint32_t events) override;

 private:
  enum class State : std::uint8_t { kConnecting, kHead, kBody, kIdle };

  void read();
  /// False when the connection is done with this input.
  bool take_head(std::string_view& input);
  void take_body(std::string_view input);
  void end(bool doubtful);
  void fail(int status, std::string_view why);
  void flush();
  void watch();
  void close();

  Context& context_;
  OriginPool& pool_;
  Socket socket_;
  ResponseSink* sink_ = nullptr;
  State state_ = State::kConnecting;
  std::uint32_t events_;
  bool used_before_ = false;
  bool to_head_ = false;
  bool keep_ = false;
  /// The body of the request is not here yet to its end.
  bool more_ = false;
  /// It takes no more bytes of the request.
  bool broken_ = false;

  std::string out_;
  std::size_t out_sent_ = 0;
  std::string in_;
  std::size_t interims_ = 0;
  HeadScanner scanner_;
  Response response_;
  Framing framing_;
  std::uint64_t left_ = 0;
  ChunkedDecoder decoder_;
  std::int64_t deadline_ = 0;
};

/// All connections to one origin. Owner thread only.
class OriginPool {
 public:
  /// Throws dtutils::Error as resolve(). Setup only.
  OriginPool(Context& context, std::string name);

  /// One that is open and idle, unless `fresh`, or else a new one. Null: there are too many, or
  /// none can be made.
  OriginConnection* take(bool fresh);
  /// For connections: it can be used again.
  void keep(OriginConnection& connection);
  /// For connections: it is closed, and destroyed by sweep().
  void closed(OriginConnection& connection);
  void check_deadlines();
  /// Destroys what is closed. Not inside of an event.
  void sweep();
  /// Closes those that are idle.
  void close_idle();
  /// HOST:PORT.
  const std::string& name() const noexcept { return name_; }

 private:
  Context& context_;
  const std::string name_;
  Address address_;
  std::unordered_map<OriginConnection*, std::unique_ptr<OriginConnection>> connections_;
  /// The last one used at the end.
  std::vector<OriginConnection*> idle_;
  std::vector<OriginConnection*> gone_;
};

}  // namespace proxy
