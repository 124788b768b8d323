// SPDX-License-Identifier: MIT
// The proxy: listens, answers from the store, and asks the origin for the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "proxy/client.hpp"
#include "proxy/document_store.hpp"
#include "proxy/fetch.hpp"
#include "proxy/options.hpp"
#include "proxy/origin.hpp"
#include "proxy/placement.hpp"
#include "proxy/publisher.hpp"

namespace proxy {

/// What signal handlers tell a server. Any thread, wait-free.
struct Commands {
  std::atomic<bool> stop{false};
  std::atomic<bool> reopen_log{false};
};

/// A caching reverse proxy for one origin, or one for each site, on one thread. Owner thread only.
class Server final : private RequestHandler, private FetchOwner {
 public:
  /// Listens from here on. `documents`, `placement` and `publisher` outlive it; without `placement`
  /// it is for all sites. Throws dtutils::Error when it cannot listen, or does not know the origin.
  /// Setup only.
  Server(const Options& options, DocumentStore& documents, Placement* placement = nullptr,
         Publisher* publisher = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Serves until `commands.stop`; then no new connection is taken, what is on its way is
  /// completed, for Options::drain_timeout at most, and it returns. Throws dtutils::Error when the
  /// access log cannot be opened again.
  void run(Commands& commands);
  /// 0 where no clients are served.
  std::uint16_t port() const noexcept;
  /// 0 without one.
  std::uint16_t metrics_port() const noexcept;

 private:
  class Listener;
  struct Lookup {
    DocumentStore::Found found;
    /// Of the variant, where variants are known.
    std::string key;
  };

  void serve(Client& client) override;
  void closed(Client& client) override;
  void schedule(Client& client) override;
  void done(Fetch& fetch) override;
  void unlist(Fetch& fetch) override;
  void list(Fetch& fetch, const std::string& key) override;
  std::string variant_of(const std::string& key, std::string_view names,
                         const Request& request) override;
  void invalidate(const std::string& key) override;
  void serve_again(Client& client) override;
  DocumentStore& store() noexcept override { return documents_; }
  OriginPool& origin_of(const Request& request) noexcept override;

  void accept(const Socket& listener, bool admin);
  void serve_admin(Client& client);
  bool look_up(const Request& request);
  void pass(Client& client, std::string_view cache_status);
  /// `waits`: the client gets the response.
  void fetch(Client& client, Fetch::Plan plan, bool waits);
  /// `may_join`: a response that was asked for before this request will do.
  void fetch_or_join(Client& client, DocumentPtr stale, bool may_join);
  void refresh(Client& client, DocumentPtr stale);
  void end_turn();
  void look_at_deadlines();
  /// It has not run for a while; deadlines are looked at later.
  bool has_just_woken() noexcept;
  void drain();

  Context context_;
  DocumentStore& documents_;
  Placement* const placement_;
  Publisher* const publisher_;
  /// One for each site; one, where there are no sites.
  std::vector<std::unique_ptr<OriginPool>> origins_;
  std::unique_ptr<Listener> listener_, metrics_listener_;
  std::unordered_map<Client*, std::unique_ptr<Client>> clients_;
  std::unordered_map<Fetch*, std::unique_ptr<Fetch>> fetches_;
  /// Fetches that others may wait for, by the keys of what they bring.
  std::unordered_map<std::string, Fetch*> listed_;
  std::vector<Client*> scheduled_;
  std::vector<Client*> closed_;
  std::vector<Fetch*> done_;
  Lookup lookup_;
  std::string key_;
  std::mt19937_64 random_;
  /// Options::max_clients, or fewer where the process may not open so many files.
  std::size_t max_clients_ = 1;
  std::int64_t next_look_ = 0;
  bool woken_ = false;
  std::int64_t drain_deadline_ = 0;
};

}  // namespace proxy
