// SPDX-License-Identifier: MIT
// The connection of a client: requests come in, responses go out, in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/chunked.hpp"
#include "proxy/conditional.hpp"
#include "proxy/document.hpp"
#include "proxy/framing.hpp"
#include "proxy/message.hpp"
#include "proxy/options.hpp"
#include "proxy/output.hpp"

namespace proxy {

class Client;

/// A request that is kept while it is answered, with the bytes that it views.
struct HeldRequest {
  std::string head;
  Request request;
};

/// Where the body of a response comes from, and where the body of a request goes to, for clients
/// that wait. Owner thread only.
class Source {
 public:
  /// The bytes of the body that are here, from that one on.
  virtual std::string_view body_from(std::uint64_t offset) const noexcept = 0;
  /// The body has come to its end.
  virtual bool ended() const noexcept = 0;
  /// When it has ended, and is stored: what body_from() views.
  virtual DocumentPtr document() const noexcept = 0;
  /// A client has moved on in the body.
  virtual void consumed() = 0;
  /// A client needs it no longer.
  virtual void leave(Client& client) = 0;
  /// A part of the body of the request.
  virtual void upload(std::string_view data) = 0;
  virtual void upload_ended() = 0;
  /// False while earlier parts wait for the origin.
  virtual bool takes_upload() const noexcept = 0;

 protected:
  ~Source() = default;
};

/// Who answers requests.
class RequestHandler {
 public:
  /// Answers it, or lets the client wait for a Source.
  virtual void serve(Client& client) = 0;
  /// The client is to be destroyed at the end of this turn.
  virtual void closed(Client& client) = 0;
  /// The client is to be told to go_on() at the end of this turn.
  virtual void schedule(Client& client) = 0;

 protected:
  ~RequestHandler() = default;
};

/// The head of a response to a client.
struct ResponseHead {
  int status = 200;
  /// Of HTTP/1, in which it came from the web server.
  int minor_version = 1;
  /// Of forwarded_fields().
  std::string_view fields;
  /// Of the body; nothing when it is not known.
  std::optional<std::uint64_t> length;
  Validators validators;
  /// Seconds; nothing for a response that is no older than its fetch.
  std::optional<std::int64_t> age;
  /// What Cache-Status says behind the name of the proxy.
  std::string_view cache_status;
  /// It answers the request without its conditions and its range, which are applied here.
  bool whole = false;
};

/// One request at a time is answered; others that have come wait in its input. Owner thread only.
class Client final : public Watched {
 public:
  /// `admin`: it came to the port of the metrics.
  Client(Context& context, RequestHandler& handler, Socket socket, bool admin);

  const Request& request() const noexcept { return held_ ? held_->request : request_; }
  const Framing& request_body() const noexcept { return upload_; }
  const std::string& address() const noexcept { return address_; }
  bool is_admin() const noexcept { return admin_; }
  /// It is waiting to be told what comes next, and has no request that is half here.
  bool idle() const noexcept;
  /// It has asked for something since the last call, or waits for an answer.
  bool take_busy() noexcept { return std::exchange(asked_, false) || state_ == State::kAnswering; }
  bool gone() const noexcept { return !socket_; }

  /// How the request is answered, for the log and the metrics.
  Outcome outcome = Outcome::kLocal;
  /// The request is not to wait for the fetch of another one.
  bool alone = false;
  bool scheduled = false;

  /// A response of the proxy's own.
  void answer(int status, std::string_view text, std::string_view more_fields = {});
  /// A stored one: all of it, a part, or 304.
  void answer(const DocumentPtr& document, std::string_view cache_status);
  /// Keeps the request until it is answered.
  const std::shared_ptr<const HeldRequest>& hold();
  const std::shared_ptr<const HeldRequest>& held() const noexcept { return held_; }
  /// Holds the request; its response comes from `source`.
  void wait_for(Source& source);
  /// An interim response, which a client of HTTP/1.0 does not get, and none that comes too late.
  void pass_interim(std::string_view response);
  /// The response that the client waits for begins. True when its body is wanted.
  bool begin(const ResponseHead& head);
  bool begun() const noexcept { return begun_; }
  /// Takes it away from its source without telling the source.
  void forget_source() noexcept { source_ = nullptr; }
  /// The response cannot be completed: the client is to notice.
  void abort();

  /// The next byte of the body that it takes from its source.
  std::uint64_t offset() const noexcept { return offset_; }

  /// Moves what its source has, answers further requests, sends.
  void go_on();
  /// Once in a while: ends what takes too long.
  void check_deadline();
  /// The proxy ends: answers a request that has come, and closes the connection if it is idle.
  void drain();

  void ready(std::uint32_t events) override;

 private:
  enum class State : std::uint8_t { kHead, kAnswering, kClosing, kLingering };

  /// While so much waits for a client, no further request of it is answered, and no more of a body
  /// is taken.
  static constexpr std::size_t kEnoughPending = 256 << 10;

  void read();
  void discard();
  void take_requests();
  void take_upload();
  std::string_view unread() const noexcept { return std::string_view(in_).substr(in_used_); }
  void refuse(int status, std::string_view why);
  /// While its body is on its way; the origin gets no end of it.
  void refuse_upload(int status, std::string_view why);
  void pump();
  bool flush();
  void watch();
  void finish();
  void close();
  void linger();
  bool upload_open() const noexcept { return upload_.kind != Framing::Kind::kNone && !uploaded_; }
  bool wants_input() const noexcept;
  /// Ends the head of a response with the fields that are for this connection.
  /// `minor_version`: of HTTP/1, in which the response came.
  void end_head(std::string_view cache_status, std::optional<std::int64_t> age, int minor_version);
  bool begin_not_modified(const ResponseHead& head);
  bool begin_unsatisfiable(const ResponseHead& head);
  void append_length(std::uint64_t length);
  void append_date();
  void begin_status(int status);
  void set_deadline() noexcept;

  Context& context_;
  RequestHandler& handler_;
  Socket socket_;
  std::string address_;
  const bool admin_;
  State state_ = State::kHead;
  std::uint32_t events_;

  std::string in_;
  std::size_t in_used_ = 0;
  HeadScanner scanner_;
  Request request_;
  std::shared_ptr<const HeldRequest> held_;
  std::int64_t began_ = 0;

  Framing upload_;
  std::uint64_t upload_seen_ = 0;
  ChunkedDecoder decoder_;
  bool uploaded_ = false;

  Output output_;
  Source* source_ = nullptr;
  bool begun_ = false;
  bool keep_alive_ = false;
  bool chunked_ = false;
  int status_ = 0;
  std::uint64_t offset_ = 0;
  /// Of the body, where the response ends.
  std::uint64_t end_ = 0;
  std::uint64_t sent_body_ = 0;

  /// Of the steady clock; 0: none.
  std::int64_t deadline_ = 0;
  bool half_head_ = false;
  bool asked_ = false;
  bool eof_ = false;
};

}  // namespace proxy
