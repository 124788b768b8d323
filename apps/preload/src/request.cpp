// SPDX-License-Identifier: MIT
// Requests for streams, and the threads that take them.
#include "request.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "connection.hpp"
#include "real.hpp"
#include "uring.hpp"

namespace preload {

bool leaves_descriptors(int fd) noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<rlim_t>(fd) < limit.rlim_cur / 2;
}

void finish(const Request& request, std::unique_ptr<streams::Stream> stream) {
  if (stream != nullptr && !leaves_descriptors(stream->descriptor())) stream = nullptr;
  Connection& connection = *request.connection;
  const std::scoped_lock lock(connection.mutex);
  if (connection.generation() != request.generation) return;
  connection.pending = false;
  if (stream != nullptr && connection.may_be_carried() && permit_stream()) {
    connection.carry(std::move(stream));
  }
}

bool is_still_wanted(const Request& request) {
  if (request.other_host && Request::Clock::now() >= request.end) return false;
  const std::scoped_lock lock(request.connection->mutex);
  return request.connection->generation() == request.generation && request.connection->pending;
}

Worker::Worker() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Worker::start(std::function<void()> body) {
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(body)).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Worker::ask(Request request) {
  const std::scoped_lock lock(mutex_);
  requests_.push_back(std::move(request));
  const std::uint64_t one = 1;
  static_cast<void>(real().write(wake_, &one, sizeof one));
}

bool Worker::take_wakes() noexcept {
  std::uint64_t count;
  return real().read(wake_, &count, sizeof count) > 0;
}

std::vector<Request> Worker::take() {
  take_wakes();
  const std::scoped_lock lock(mutex_);
  return std::exchange(requests_, {});
}

std::vector<bool> Worker::sleep(const std::vector<int>& descriptors,
                                const Request::Clock::duration* limit) {
  std::vector<pollfd> entries{{wake_, POLLIN, 0}};
  for (const int fd : descriptors) entries.push_back({fd, POLLIN, 0});
  timespec time{};
  if (limit != nullptr) {
    const auto left = std::max<std::chrono::nanoseconds>(*limit, std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    time = {seconds.count(), (left - seconds).count()};
  }
  real().ppoll(entries.data(), entries.size(), limit == nullptr ? nullptr : &time, nullptr);
  std::vector<bool> readable;
  for (std::size_t i = 1; i < entries.size(); ++i) readable.push_back(entries[i].revents != 0);
  return readable;
}

}  // namespace preload
