// SPDX-License-Identifier: MIT
// One response of the origin: for the clients that wait for it, and for the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/client.hpp"
#include "proxy/document_store.hpp"
#include "proxy/origin.hpp"

namespace proxy {

class Fetch;

/// Who has fetches.
class FetchOwner {
 public:
  /// The fetch is to be destroyed at the end of this turn.
  virtual void done(Fetch& fetch) = 0;
  /// Other requests no longer wait for it.
  virtual void unlist(Fetch& fetch) = 0;
  /// They find it by this key from now on.
  virtual void list(Fetch& fetch, const std::string& key) = 0;
  /// The key of the variant of `key` that a request selects, for a response that varies by `names`.
  virtual std::string variant_of(const std::string& key, std::string_view names,
                                 const Request& request) = 0;
  /// The origin has changed what `key` names.
  virtual void invalidate(const std::string& key) = 0;
  virtual void serve_again(Client& client) = 0;
  virtual void schedule(Client& client) = 0;
  virtual DocumentStore& store() noexcept = 0;
  virtual OriginPool& origin_of(const Request& request) noexcept = 0;

 protected:
  ~FetchOwner() = default;
};

/// A request to the origin and its response, which goes to the clients that wait for it as it
/// comes, each at its own pace. When it may be stored it is gathered, so that further clients can
/// join at any time; when not, it passes through a window, and the origin waits for the slowest
/// client. Owner thread only.
class Fetch final : public Source, public ResponseSink {
 public:
  struct Plan {
    /// Of what the request names.
    std::string key;
    /// The whole response is asked for, is stored if that is allowed, and is for all who want it.
    bool shared = false;
    /// A stored response that may still be the same.
    DocumentPtr stale;
    DocumentStore::Ticket ticket = 0;
    /// What Cache-Status says.
    std::string_view cache_status = "fwd=miss";
  };
  Fetch(Context& context, FetchOwner& owner, std::shared_ptr<const HeldRequest> request,
        std::string_view client_address, const Framing& request_body, Plan plan);

  /// Asks the origin. `first` waits already; null for a refreshment that nobody waits for.
  void start(Client* first);
  /// One more client waits for the same.
  void join(Client& client);
  /// A client with this request may join; its head, if it is here, is fresh.
  bool may_join() const noexcept;
  const std::string& key() const noexcept { return plan_.key; }
  DocumentStore::Ticket ticket() const noexcept { return plan_.ticket; }
  /// What it brings is not stored: it may be older than a change.
  void doom() noexcept { doomed_ = true; }
  /// Where it is listed.
  std::string listed_as;

  std::string_view body_from(std::uint64_t offset) const noexcept override;
  bool ended() const noexcept override { return ended_; }
  DocumentPtr document() const noexcept override { return document_; }
  void consumed() override;
  void leave(Client& client) override;
  void upload(std::string_view data) override;
  void upload_ended() override;
  bool takes_upload() const noexcept override;

  void on_interim(const Response& response) override;
  bool on_head(const Response& response, const Framing& framing) override;
  void on_body(std::string_view bytes) override;
  void on_end(bool doubtful) override;
  void on_failure(int status, std::string_view why, bool unread) override;
  void on_sent() override { schedule_readers(); }
  bool wants_body() const noexcept override;

 private:
  void ask(bool fresh);
  bool still_the_same(const Response& response);
  /// Gives all clients the stale document. False when that is not allowed.
  bool serve_stale();
  void decide(const Response& response, const Framing& framing);
  /// The clients that wait for something else, when the response varies by `names`.
  std::vector<Client*> take_others(const std::string& names);
  bool begin_readers(bool no_body);
  ResponseHead head_for(bool joined) const;
  void invalidate_by(const Response& response);
  void stop_storing();
  void trim();
  void schedule_readers();
  void end_if_unused();

  Context& context_;
  FetchOwner& owner_;
  const std::shared_ptr<const HeldRequest> request_;
  const std::string client_address_;
  const Framing request_body_;
  Plan plan_;
  std::vector<Client*> readers_;
  OriginConnection* connection_ = nullptr;
  bool retried_ = false;
  std::int64_t requested_ = 0;

  bool headed_ = false;
  /// on_head() is at work, and looks itself whether anybody is left.
  bool in_head_ = false;
  int status_ = 0;
  int minor_version_ = 1;
  std::string fields_;
  std::optional<std::uint64_t> length_;
  Validity validity_;
  std::optional<std::int64_t> age_;
  std::string etag_;
  std::optional<std::int64_t> last_modified_;

  /// While the response is gathered for the store.
  std::optional<DocumentBuilder> builder_;
  DocumentPtr document_;
  bool doomed_ = false;
  /// Else the bytes of the body from base_ on.
  std::string window_;
  std::uint64_t base_ = 0;
  bool ended_ = false;
  bool done_ = false;
};

}  // namespace proxy
