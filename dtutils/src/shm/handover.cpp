// SPDX-License-Identifier: MIT
// Descriptors in messages of local sockets: parking one, handing it over.
#include "shm/handover.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "dtutils/error.hpp"
#include "shm/layout_digest.hpp"
#include "shm/local_message.hpp"
#include "shm/service_thread.hpp"

namespace dtutils::shm {
namespace {

constexpr int kVisitorMilliseconds = 200;

}  // namespace

ParkedFile::ParkedFile(Descriptor file) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error("shm", "a local socket cannot be made", "raise `ulimit -n`", errno);
  }
  const Descriptor sender(ends[0]);
  queue_ = Descriptor(ends[1]);
  char nothing = 0;
  Parcel parcel(&nothing, sizeof nothing);
  parcel.put(file.get());
  // Against those who look at the right moment: the file cannot be opened by its name at all.
  fchmod(file.get(), 0);
  if (sendmsg(sender.get(), &parcel.message, MSG_NOSIGNAL) < 0) {
    throw Error("shm", "the control segment cannot be put aside",
                "raise `ulimit -n`, which limits the descriptors under way of all processes of "
                "this user, too",
                errno);
  }
}

Descriptor ParkedFile::open() const {
  Descriptor file = look_into(queue_);
  if (!file) {
    throw Error("shm", "no descriptor is left for the control segment", "raise `ulimit -n`",
                EMFILE);
  }
  return file;
}

Door::Door(std::uint64_t key, const ParkedFile& file)
    : key_(key), file_(file), listener_(local_socket()) {
  const DoorName name(getpid(), number());
  if (bind(listener_.get(), name.get(), name.length) != 0) {
    throw Error("shm", "a local socket cannot have its name", "free memory", errno);
  }
  if (listen(listener_.get(), SOMAXCONN) != 0) {
    throw Error("shm", "a local socket cannot listen", "free memory", errno);
  }
  thread_ = start_service_thread([this] { serve(); });
  thread_id_.wait(0);
}

Door::~Door() {
  if (thread_ == nullptr) return;
  // Ends the accept(2) of the thread.
  shutdown(listener_.get(), SHUT_RDWR);
  thread_->join();
}

void Door::abandon_in_child() noexcept {
  // Not joined, not detached: the thread that it names exists in the parent only.
  [[maybe_unused]] const std::thread* left_behind = thread_.release();
  listener_ = Descriptor();
}

void Door::serve() {
  thread_id_.store(gettid());
  thread_id_.notify_all();
  for (;;) {
    const Descriptor visitor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (visitor) {
      answer(visitor);
    } else if (errno == EINVAL) {
      return;
    } else if (errno == EMFILE || errno == ENFILE) {
      // Until a descriptor is free; the visitor waits meanwhile.
      poll(nullptr, 0, kVisitorMilliseconds);
    }
  }
}

void Door::answer(const Descriptor& visitor) const try {
  const auto peer = credentials(visitor);
  if (!peer || peer->uid != geteuid()) return;
  limit_waiting(visitor, kVisitorMilliseconds);
  DoorRequest request{};
  const ssize_t size =
      uninterrupted([&] { return recv(visitor.get(), &request, sizeof request, 0); });
  if (size != sizeof request || request.magic != kMagic || request.key != key_) {
    return;
  }
  DoorAnswer answer{kMagic, layout_digest()};
  Parcel parcel(&answer, sizeof answer);
  Descriptor file;
  if (request.layout == answer.layout) {
    file = file_.open();
    parcel.put(file.get());
  } else {
    parcel.message.msg_controllen = 0;
  }
  uninterrupted([&] { return sendmsg(visitor.get(), &parcel.message, MSG_NOSIGNAL); });
} catch (const Error&) {
  // No descriptor is left. The visitor hears nothing, and says so.
}

}  // namespace dtutils::shm
