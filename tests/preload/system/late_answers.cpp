// SPDX-License-Identifier: MIT
// Lets an answer of the kernel, that there is something to read, be old when it is told.
#include <dlfcn.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <csignal>

// Loaded behind the preload library: that calls this for the one of libc. Who only looks, and does
// not wait, hears of bytes after a pause in which another process may have taken them.
extern "C" int ppoll(pollfd* entries, nfds_t count, const timespec* time, const sigset_t* mask) {
  static const auto next = reinterpret_cast<decltype(&ppoll)>(dlsym(RTLD_NEXT, "ppoll"));
  const int found = next(entries, count, time, mask);
  const bool looks = time != nullptr && time->tv_sec == 0 && time->tv_nsec == 0;
  const auto readable = [](const pollfd& entry) { return (entry.revents & POLLIN) != 0; };
  if (looks && found > 0 && std::any_of(entries, entries + count, readable)) {
    const timespec pause{0, 30'000'000};
    nanosleep(&pause, nullptr);
  }
  return found;
}
