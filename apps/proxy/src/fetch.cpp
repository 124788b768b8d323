// SPDX-License-Identifier: MIT
// The life of a fetch: asking, the body, the end, failures.
#include "proxy/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "proxy/forwarding.hpp"

namespace proxy {
namespace {

/// Of a response that is not stored, what is held at most, and of the body of a request.
constexpr std::size_t kWindow = 256 << 10;

/// A request that may be sent a second time (RFC 9110, section 9.2.2), and has no body.
bool repeatable(const Request& request, const Framing& body) noexcept {
  return body.kind == Framing::Kind::kNone &&
         (request.method == Method::kGet || request.method == Method::kHead ||
          request.method == Method::kOptions);
}

}  // namespace

Fetch::Fetch(Context& context, FetchOwner& owner, std::shared_ptr<const HeldRequest> request,
             std::string_view client_address, const Framing& request_body, Plan plan)
    : context_(context),
      owner_(owner),
      request_(std::move(request)),
      client_address_(client_address),
      request_body_(request_body),
      plan_(std::move(plan)) {}

void Fetch::start(Client* first) {
  if (first != nullptr) {
    readers_.push_back(first);
    first->wait_for(*this);
  }
  // A request that cannot be repeated does not meet a connection that the origin is just closing.
  ask(!repeatable(request_->request, request_body_));
}

void Fetch::ask(bool fresh) {
  OriginPool& origin = owner_.origin_of(request_->request);
  connection_ = origin.take(fresh);
  if (connection_ == nullptr) {
    return on_failure(503, "no connection to the origin is to be had", false);
  }
  ForwardOptions options;
  options.whole = plan_.shared;
  options.validate = plan_.stale.get();
  options.body = request_body_;
  options.client_address = client_address_;
  options.default_host = origin.name();
  requested_ = context_.now;
  connection_->start(*this, origin_request(request_->request, options),
                     request_->request.method == Method::kHead,
                     request_body_.kind != Framing::Kind::kNone);
}

void Fetch::join(Client& client) {
  readers_.push_back(&client);
  client.wait_for(*this);
  if (!headed_) return;
  (void)client.begin(head_for(true));
  owner_.schedule(client);
}

bool Fetch::may_join() const noexcept {
  return !headed_ || use_of(validity_, {}, context_.now) == Use::kServe;
}

std::string_view Fetch::body_from(std::uint64_t offset) const noexcept {
  std::string_view body = window_;
  std::uint64_t base = base_;
  if (document_) {
    body = document_->body();
    base = 0;
  } else if (builder_) {
    body = builder_->body();
    base = 0;
  }
  const std::uint64_t skip = offset - std::min(base, offset);
  return skip >= body.size() ? std::string_view{} : body.substr(skip);
}

bool Fetch::wants_body() const noexcept { return builder_ || window_.size() < kWindow; }

void Fetch::on_body(std::string_view bytes) {
  if (builder_) {
    builder_->append(bytes);
    if (builder_->body().size() > owner_.store().max_document()) stop_storing();
  } else {
    window_.append(bytes);
    trim();
  }
  schedule_readers();
}

void Fetch::stop_storing() {
  owner_.unlist(*this);
  window_.assign(builder_->body());
  builder_.reset();
  trim();
}

void Fetch::trim() {
  std::uint64_t needed = UINT64_MAX;
  for (const Client* const reader : readers_) needed = std::min(needed, reader->offset());
  const std::size_t unused =
      std::min<std::uint64_t>(window_.size(), needed - std::min(needed, base_));
  if (unused < window_.size() && unused < kWindow / 4) return;
  window_.erase(0, unused);
  base_ += unused;
}

void Fetch::consumed() {
  if (builder_ || document_) return;
  trim();
  if (connection_ != nullptr) connection_->want_more();
}

void Fetch::leave(Client& client) {
  std::erase(readers_, &client);
  if (!in_head_) end_if_unused();
}

void Fetch::end_if_unused() {
  if (!readers_.empty() || done_) return;
  // A response that is to be stored is read to its end.
  if (!ended_ && (builder_ || (!headed_ && plan_.shared))) return;
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->give_up();
  done_ = true;
  owner_.done(*this);
}

void Fetch::on_end(bool doubtful) {
  connection_ = nullptr;
  ended_ = true;
  if (builder_ && !doubtful && !doomed_) {
    document_ = builder_->finish();
    builder_.reset();
    owner_.store().put(document_, plan_.ticket);
  }
  owner_.unlist(*this);
  schedule_readers();
  end_if_unused();
}

void Fetch::on_failure(int status, std::string_view why, bool unread) {
  connection_ = nullptr;
  if (unread && !retried_ && repeatable(request_->request, request_body_)) {
    retried_ = true;
    return ask(true);
  }
  ended_ = true;
  owner_.unlist(*this);
  builder_.reset();
  if (headed_ || !serve_stale()) {
    const std::vector<Client*> readers = readers_;
    for (Client* const reader : readers) {
      if (reader->begun()) {
        reader->abort();
        continue;
      }
      reader->outcome = Outcome::kLocal;
      reader->answer(status, why);
      owner_.schedule(*reader);
    }
  }
  end_if_unused();
}

void Fetch::schedule_readers() {
  for (Client* const reader : readers_) owner_.schedule(*reader);
}

void Fetch::upload(std::string_view data) {
  if (connection_ == nullptr) return;
  if (request_body_.kind != Framing::Kind::kChunked) return connection_->send(data);
  std::string chunk = fmt::format("{:x}\r\n", data.size());
  connection_->send(chunk.append(data).append("\r\n"));
}

void Fetch::upload_ended() {
  if (connection_ == nullptr) return;
  connection_->request_ended();
  if (request_body_.kind == Framing::Kind::kChunked) connection_->send("0\r\n\r\n");
}

bool Fetch::takes_upload() const noexcept {
  return connection_ != nullptr && connection_->unsent() < kWindow;
}

}  // namespace proxy
