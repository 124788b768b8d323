// SPDX-License-Identifier: MIT
// Forks, watches and reaps the second process of a test.
#include "support/two_processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>

#include "support/require.hpp"

namespace support {
namespace {

bool readable(int fd, std::chrono::milliseconds limit) {
  pollfd event{fd, POLLIN, 0};
  if (!on_simulated_device()) return ::poll(&event, 1, static_cast<int>(limit.count())) > 0;
  // Nodes hear nothing of what others do to the descriptors of the process.
  return eventually([&] { return ::poll(&event, 1, 0) > 0; }, limit);
}

struct Introduction {
  dtutils::Endpoint endpoint;
  dtutils::RemoteMemoryLocator memory;
};

}  // namespace

Wire::Wire(int fd, std::function<std::string()> epitaph) : fd_(fd), epitaph_(std::move(epitaph)) {}

Wire::~Wire() { ::close(fd_); }

void Wire::write(const void* data, std::size_t size) {
  if (::send(fd_, data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) fail(epitaph_());
}

void Wire::read(void* data, std::size_t size) {
  require(readable(fd_, kPatience), "the other process said nothing in time");
  const ssize_t got = ::recv(fd_, data, size, 0);
  if (got <= 0) fail(epitaph_());
  require_equal(static_cast<std::size_t>(got), size, "the length of a message on the wire");
}

void Wire::meet() {
  tell('m');
  require_equal(hear<char>(), 'm', "a meeting's message");
}

/// Shared between the two processes: why the second one ended, if it had a reason.
struct RemotePeer::Report {
  char words[2048];
};

RemotePeer::RemotePeer(const Body& body) {
  void* page =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(page != MAP_FAILED, "no memory for the second process");
  report_ = static_cast<Report*>(page);
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no wire");
  if (on_simulated_device()) {
    wire_ = std::make_unique<Wire>(ends[0], [this] { return epitaph(); });
    start_node(ends[1], body);
    return;
  }

  const pid_t parent = ::getpid();
  pid_ = ::fork();
  require(pid_ >= 0, "no second process");
  if (pid_ != 0) {
    ::close(ends[1]);
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    wire_ = std::make_unique<Wire>(ends[0], [this] { return epitaph(); });
    return;
  }

  // From here on this is the second process; it never returns into the test runner.
  ::close(ends[0]);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::alarm(static_cast<unsigned>(3 * kPatience.count() / 1000));
  int status = 0;
  try {
    Wire wire(ends[1], [] { return std::string("the test's first process hung up"); });
    body(wire);
  } catch (const std::exception& error) {
    std::strncpy(report_->words, error.what(), sizeof report_->words - 1);
    status = 1;
  }
  ::_exit(status);
}

void RemotePeer::start_node(int fd, const Body& body) {
  static dtutils::Simulation::Node nodes = 0;
  node_ = ++nodes;
  node_ended_ = std::make_shared<bool>(false);
  // The report is kept for a node that crashes, which goes on at the end of the process.
  simulation_under_test().start(node_, [fd, body, report = report_, ended = node_ended_] {
    try {
      Wire wire(fd, [] { return std::string("the test's first process hung up"); });
      body(wire);
    } catch (const std::exception& error) {
      std::strncpy(report->words, error.what(), sizeof report->words - 1);
    }
    *ended = true;
  });
}

RemotePeer::~RemotePeer() {
  kill();
  if (node_ != 0) return;
  ::close(pidfd_);
  ::munmap(report_, sizeof(Report));
}

void RemotePeer::stop() {
  if (node_ != 0) return simulation_under_test().stop(node_, std::chrono::hours(1));
  require(::kill(pid_, SIGSTOP) == 0, "the second process cannot be stopped");
  int status = 0;
  require(::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status),
          "the second process ended instead of stopping");
}

void RemotePeer::kill() {
  if (node_ != 0 && !*node_ended_) simulation_under_test().crash(node_);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status_, 0);
  pid_ = -1;
}

bool RemotePeer::reap(std::chrono::milliseconds limit) {
  if (node_ != 0) return eventually([&] { return *node_ended_; }, limit);
  if (pid_ < 0) return true;
  if (!readable(pidfd_, limit)) return false;
  ::waitpid(pid_, &status_, 0);
  pid_ = -1;
  return true;
}

void RemotePeer::join() {
  if (!reap(kPatience)) {
    kill();
    fail("the second process did not end in time");
  }
  if (node_ != 0) {
    if (report_->words[0] != '\0') fail(epitaph());
    return;
  }
  if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) fail(epitaph());
}

std::string RemotePeer::epitaph() {
  // The wire breaks a moment before the process is gone.
  if (!reap(std::chrono::milliseconds(2000))) return "the second process hung up, but still runs";
  if (report_->words[0] != '\0') return fmt::format("in the second process: {}", report_->words);
  if (WIFSIGNALED(status_)) {
    return fmt::format("the second process was ended by signal {} ({})", WTERMSIG(status_),
                       ::strsignal(WTERMSIG(status_)));
  }
  return fmt::format("the second process ended with status {}", WEXITSTATUS(status_));
}

dtutils::RemoteMemoryLocator connect(Wire& wire, Side& side) {
  wire.tell(Introduction{side.qp.endpoint(), side.region.remote()});
  const auto other = wire.hear<Introduction>();
  side.qp.connect(other.endpoint);
  wire.meet();
  return other.memory;
}

}  // namespace support
