// SPDX-License-Identifier: MIT
// Requests in, answers out.
#include "control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace run {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostClients = 32;
constexpr std::size_t kLongestRequest = 64;

}  // namespace

Control::~Control() {
  for (const Client& client : clients_) close(client.fd);
  close(listener_);
}

void Control::watch(std::vector<pollfd>& into) const {
  // The others wait in the queue of the socket.
  if (clients_.size() < kMostClients) into.push_back({listener_, POLLIN, 0});
  for (const Client& client : clients_) {
    const int what = client.unsent.empty() ? POLLIN : POLLOUT;
    into.push_back({client.fd, static_cast<short>(what), 0});
  }
}

std::optional<Control::Clock::time_point> Control::next_deadline() const {
  std::optional<Clock::time_point> next;
  for (const Client& client : clients_) {
    if (client.by && (!next || *client.by < *next)) next = client.by;
  }
  return next;
}

void Control::handle(std::span<const pollfd> ready, const Answer& answer) {
  const auto now = Clock::now();
  for (auto client = clients_.begin(); client != clients_.end();) {
    const auto event =
        std::ranges::find(ready, client->fd, [](const pollfd& each) { return each.fd; });
    const bool is_ready = event != ready.end() && event->revents != 0;
    const bool stays = (!is_ready || serve(*client, answer)) && (!client->by || now < *client->by);
    if (!stays) close(client->fd);
    client = stays ? std::next(client) : clients_.erase(client);
  }
  accept_clients();
}

void Control::accept_clients() {
  while (clients_.size() < kMostClients) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    clients_.push_back({fd, Clock::now() + kPatience, {}, {}});
  }
}

bool Control::serve(Client& client, const Answer& answer) {
  if (client.unsent.empty()) {
    char part[kLongestRequest];
    const ssize_t got = recv(client.fd, part, sizeof part, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    client.request.append(part, static_cast<std::size_t>(got));
    const std::size_t end = client.request.find('\n');
    if (end == std::string::npos || !client.by) return client.request.size() < kLongestRequest;
    const auto text = answer(client.request.substr(0, end));
    client.request.clear();
    if (!text) client.by.reset();
    if (!text) return true;
    client.unsent = *text;
  }
  const ssize_t put = send(client.fd, client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (put < 0) return errno == EAGAIN || errno == EINTR;
  client.unsent.erase(0, static_cast<std::size_t>(put));
  return !client.unsent.empty();
}

void Control::finish(const std::string& ending) {
  for (const Client& client : clients_) {
    if (client.by) continue;
    const timeval limit{1, 0};
    setsockopt(client.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    fcntl(client.fd, F_SETFL, fcntl(client.fd, F_GETFL) & ~O_NONBLOCK);
    for (std::string rest = ending; !rest.empty();) {
      const ssize_t put = send(client.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (put <= 0) break;
      rest.erase(0, static_cast<std::size_t>(put));
    }
  }
}

}  // namespace run
