// SPDX-License-Identifier: MIT
// The loop: events, what they have left to do, deadlines, the end.
#include "proxy/server.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "dtutils/descriptor_limit.hpp"

namespace proxy {
namespace {

/// Milliseconds between two looks at deadlines, and how long the loop sleeps at most.
constexpr int kTick = 100;
/// Milliseconds that clients and origins have to go on after this process was stopped, often
/// together with them: the time in which it could not see them is not theirs.
constexpr std::int64_t kGrace = 1000;
/// Connections that are taken before others are served.
constexpr int kAcceptedAtOnce = 64;

/// Descriptors for the log, the metrics, and what a job opens.
constexpr std::size_t kOtherFiles = 64;

/// Clients that are served at once: idle ones must not take the descriptors that others need for
/// connections to the origin. A quarter of all is kept for those, or fewer if there may be fewer.
std::size_t clients_within(std::size_t files, const Options& options) {
  const std::size_t origins = std::min(options.max_origin_connections, files / 4);
  const std::size_t kept = std::min(origins + kOtherFiles, files / 2);
  return std::clamp<std::size_t>(files - kept, 1, options.max_clients);
}

}  // namespace

/// A port. While there are too many clients, or no more descriptors, it is not watched.
class Server::Listener final : public Watched {
 public:
  Listener(Server& server, const std::string& address, bool admin)
      : server_(server), socket_(listen_on(address)), admin_(admin) {
    server_.context_.poller.add(socket_.fd(), EPOLLIN, *this);
  }
  void ready(std::uint32_t) override { server_.accept(socket_, admin_); }
  void pause(bool paused) {
    if (paused == paused_) return;
    paused_ = paused;
    server_.context_.poller.change(socket_.fd(), paused ? 0u : EPOLLIN, *this);
  }
  /// Those who have connected already.
  void take_all() {
    for (std::size_t before = SIZE_MAX; before != server_.clients_.size();) {
      before = server_.clients_.size();
      ready(EPOLLIN);
    }
  }
  std::uint16_t port() const noexcept { return port_of(socket_); }

 private:
  Server& server_;
  Socket socket_;
  const bool admin_;
  bool paused_ = false;
};

Server::Server(const Options& options, DocumentStore& documents, Placement* placement,
               Publisher* publisher)
    : context_(options),
      documents_(documents),
      placement_(placement),
      publisher_(publisher),
      random_(std::random_device{}()) {
  context_.metrics.site_requests.resize(options.sites.size());
  for (const Site& site : options.sites) {
    origins_.push_back(std::make_unique<OriginPool>(context_, site.origin));
  }
  if (origins_.empty()) origins_.push_back(std::make_unique<OriginPool>(context_, options.origin));
  max_clients_ = clients_within(dtutils::raise_descriptor_limit(), options);
  if (!options.lends) listener_ = std::make_unique<Listener>(*this, options.listen, false);
  if (!options.metrics.empty()) {
    metrics_listener_ = std::make_unique<Listener>(*this, options.metrics, true);
  }
}

Server::~Server() = default;

std::uint16_t Server::port() const noexcept {
  return listener_ ? listener_->port() : std::uint16_t{0};
}

std::uint16_t Server::metrics_port() const noexcept {
  return metrics_listener_ ? metrics_listener_->port() : std::uint16_t{0};
}

void Server::run(Commands& commands) {
  while (!context_.draining || (!clients_.empty() && context_.steady < drain_deadline_)) {
    context_.poller.wait(kTick);
    context_.look_at_clocks();
    context_.poller.dispatch();
    end_turn();
    if (commands.stop.load(std::memory_order_relaxed) && !context_.draining) drain();
    if (commands.reopen_log.exchange(false, std::memory_order_relaxed)) context_.log.reopen();
    if (context_.steady >= next_look_ && !has_just_woken()) look_at_deadlines();
  }
  context_.log.flush();
}

bool Server::has_just_woken() noexcept {
  const bool late = next_look_ != 0 && context_.steady - next_look_ >= kGrace;
  // Once in a row, lest one that is always late has no deadlines.
  woken_ = late && !woken_;
  if (woken_) next_look_ = context_.steady + kGrace;
  return woken_;
}

void Server::end_turn() {
  // What one client does may have something to do for others.
  while (!scheduled_.empty()) {
    for (Client* const client : std::exchange(scheduled_, {})) {
      client->scheduled = false;
      if (!client->gone()) client->go_on();
    }
  }
  for (Fetch* const fetch : std::exchange(done_, {})) fetches_.erase(fetch);
  for (Client* const client : std::exchange(closed_, {})) clients_.erase(client);
  for (const auto& origin : origins_) origin->sweep();
  context_.metrics.clients = clients_.size();
}

void Server::look_at_deadlines() {
  next_look_ = context_.steady + kTick;
  std::vector<Client*> all;
  all.reserve(clients_.size());
  for (const auto& [client, owner] : clients_) all.push_back(client);
  std::uint64_t busy = 0;
  for (Client* const client : all) {
    busy += !client->is_admin() && client->take_busy() ? 1 : 0;
    client->check_deadline();
  }
  if (placement_ != nullptr) {
    context_.metrics.site = placement_->turn(busy, documents_.figures().bytes);
  }
  for (const auto& origin : origins_) origin->check_deadlines();
  end_turn();
  if (publisher_ != nullptr) publisher_->publish(context_.metrics, documents_.figures());
  const bool full = clients_.size() >= max_clients_;
  if (listener_) listener_->pause(full);
  if (metrics_listener_) metrics_listener_->pause(false);
  context_.log.flush();
}

void Server::drain() {
  context_.draining = true;
  drain_deadline_ = context_.steady + context_.options.drain_timeout.count();
  if (listener_) listener_->take_all();
  listener_.reset();
  metrics_listener_.reset();
  for (const auto& [client, owner] : clients_) client->drain();
  for (const auto& origin : origins_) origin->close_idle();
  end_turn();
}

void Server::accept(const Socket& listener, bool admin) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    const bool full = !admin && clients_.size() >= max_clients_;
    Socket socket = full ? Socket{} : accept_from(listener);
    if (!socket) {
      // Until the next look at the deadlines, lest the loop turns for nothing.
      if (full || (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)) {
        (admin ? metrics_listener_ : listener_)->pause(true);
      }
      return;
    }
    RequestHandler& handler = *this;
    auto client = std::make_unique<Client>(context_, handler, std::move(socket), admin);
    Client* const key = client.get();
    clients_.emplace(key, std::move(client));
  }
}

void Server::closed(Client& client) { closed_.push_back(&client); }

void Server::schedule(Client& client) {
  if (client.scheduled || client.gone()) return;
  client.scheduled = true;
  scheduled_.push_back(&client);
}

void Server::done(Fetch& fetch) {
  unlist(fetch);
  done_.push_back(&fetch);
}

void Server::unlist(Fetch& fetch) {
  const auto found = listed_.find(fetch.listed_as);
  if (found != listed_.end() && found->second == &fetch) listed_.erase(found);
}

void Server::list(Fetch& fetch, const std::string& key) {
  unlist(fetch);
  fetch.listed_as = key;
  listed_.insert_or_assign(key, &fetch);
}

}  // namespace proxy
