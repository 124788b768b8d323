// SPDX-License-Identifier: MIT
// The socket at which the keeper of a detached job is asked.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace run {

/// A request is a line; the answer is what comes until the connection is closed. Whoever may open
/// the socket, which lies in a folder for the user alone, may ask. Who says nothing, or does not
/// read, is dropped after five seconds, and there are never more than 32 at once. One thread; it
/// never waits, but in finish().
class Control {
 public:
  /// To a request; empty: it is answered when the job has ended.
  using Answer = std::function<std::optional<std::string>(const std::string& request)>;

  /// Owns the listening socket.
  explicit Control(int listener) : listener_(listener) {}
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

  void watch(std::vector<pollfd>& into) const;
  std::optional<std::chrono::steady_clock::time_point> next_deadline() const;
  void handle(std::span<const pollfd> ready, const Answer& answer);
  /// The job has ended: answers all who wait for that.
  void finish(const std::string& ending);

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    int fd;
    /// It is dropped then; empty: it waits for the end of the job.
    std::optional<Clock::time_point> by;
    std::string request;
    std::string unsent;
  };

  void accept_clients();
  /// False when it has been answered, or is gone.
  bool serve(Client& client, const Answer& answer);

  int listener_;
  std::list<Client> clients_;
};

}  // namespace run
