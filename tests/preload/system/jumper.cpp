// SPDX-License-Identifier: MIT
// A program whose handler of SIGALRM leaves calls by siglongjmp, many times in each kind of call:
// jumper PORT, of a server that echoes. The bytes that come are those sent, and at the end it and
// a new connection work as ever.
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kJumps = 150;
constexpr suseconds_t kInterval = 700;
constexpr int kPeriod = 251;
/// More than any call here should wait.
constexpr unsigned kPatience = 40;

sigjmp_buf target;
volatile sig_atomic_t may_jump = 0;

void jump(int) {
  if (may_jump == 0) return;
  may_jump = 0;
  siglongjmp(target, 1);
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}
void need(bool good, const char* what) {
  if (!good) fail(what);
}

int connect_to(const char* port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  need(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
  return fd;
}

/// Bytes of which each is the one before and one, modulo kPeriod.
class Pattern {
 public:
  /// Of the part of the pattern that begins with the first byte.
  static bool is_whole(const unsigned char* bytes, ssize_t count) {
    for (ssize_t i = 1; i < count; ++i) {
      if (bytes[i] != (bytes[i - 1] + 1) % kPeriod) return false;
    }
    return true;
  }
  static void fill(unsigned char* bytes, std::size_t count, std::size_t from) {
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<unsigned char>((from + i) % kPeriod);
    }
  }
};

/// Sends without end, until the connection does not take more.
void send_pattern(int fd) {
  std::array<unsigned char, 3000> bytes;
  for (std::size_t at = 0;;) {
    Pattern::fill(bytes.data(), bytes.size(), at);
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

void drain(int fd) {
  std::array<unsigned char, 5000> bytes;
  while (recv(fd, bytes.data(), bytes.size(), 0) > 0) {
  }
}

void alarms(suseconds_t interval) {
  const itimerval timer{{0, interval}, {0, interval}};
  need(setitimer(ITIMER_REAL, &timer, nullptr) == 0, "setitimer");
}

/// Calls `step` until it was left so many times.
template <class Step>
void leave_often(Step step) {
  volatile int jumps = 0;
  alarms(kInterval);
  if (sigsetjmp(target, 1) != 0) jumps = jumps + 1;
  while (jumps < kJumps) {
    may_jump = 1;
    step();
    may_jump = 0;
  }
  alarms(0);
}

void take(int fd) {
  std::array<unsigned char, 700> bytes;
  const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
  need(count > 0 && Pattern::is_whole(bytes.data(), count), "the bytes");
}

void receive_with_jumps(int fd) {
  leave_often([fd] { take(fd); });
  leave_often([fd] {
    pollfd entry{fd, POLLIN, 0};
    if (poll(&entry, 1, 1000) == 1) take(fd);
  });
  leave_often([fd] {
    fd_set in;
    FD_ZERO(&in);
    FD_SET(fd, &in);
    timeval limit{1, 0};
    if (select(fd + 1, &in, nullptr, nullptr, &limit) == 1) take(fd);
  });
  const int set = epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  need(epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted) == 0, "epoll_ctl");
  leave_often([fd, set] {
    epoll_event event;
    if (epoll_wait(set, &event, 1, 1000) == 1) take(fd);
  });
  close(set);
}

/// What waits and has nothing.
void wait_with_jumps(int fd) {
  const int set = epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  need(epoll_ctl(set, EPOLL_CTL_ADD, fd, &wanted) == 0, "epoll_ctl");
  leave_often([fd] {
    char byte;
    static_cast<void>(recv(fd, &byte, 1, 0));
    fail("something came");
  });
  leave_often([fd] {
    pollfd entry{fd, POLLIN, 0};
    need(poll(&entry, 1, -1) < 0, "something came");
  });
  leave_often([set] {
    epoll_event event;
    need(epoll_wait(set, &event, 1, -1) < 0, "something came");
  });
  // The signal is let through for the wait alone.
  sigset_t alarm;
  sigset_t none;
  sigemptyset(&none);
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  need(sigprocmask(SIG_BLOCK, &alarm, nullptr) == 0, "sigprocmask");
  leave_often([fd, &none] {
    pollfd entry{fd, POLLIN, 0};
    need(ppoll(&entry, 1, nullptr, &none) < 0, "something came");
  });
  need(sigprocmask(SIG_UNBLOCK, &alarm, nullptr) == 0, "sigprocmask");
  close(set);
}

void talk(int fd, int rounds) {
  std::array<unsigned char, 64> bytes;
  for (int round = 0; round < rounds; ++round) {
    Pattern::fill(bytes.data(), bytes.size(), static_cast<std::size_t>(round));
    need(send(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "send");
    need(recv(fd, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size()),
         "recv");
    need(bytes[0] == round % kPeriod && Pattern::is_whole(bytes.data(), 64), "the echo");
  }
}

template <class Body>
std::thread without_alarms(Body body) {
  sigset_t alarm;
  sigset_t before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before);
  std::thread thread(body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

int main(int argc, char** argv) {
  need(argc == 2, "jumper PORT");
  // A call that hangs ends the program.
  struct sigaction action {};
  action.sa_handler = jump;
  need(sigaction(SIGALRM, &action, nullptr) == 0, "sigaction");
  struct sigaction seen {};
  need(sigaction(SIGALRM, nullptr, &seen) == 0 && seen.sa_handler == jump &&
           (seen.sa_flags & SA_SIGINFO) == 0,
       "the handler");
  need(signal(SIGALRM, jump) == jump && signal(SIGUSR1, jump) == SIG_DFL, "signal");
  std::thread watch = without_alarms([] {
    sleep(kPatience);
    fail("a call hangs");
  });
  watch.detach();

  const int received = connect_to(argv[1]);
  talk(received, 300);
  wait_with_jumps(received);
  std::thread sender = without_alarms([received] { send_pattern(received); });
  receive_with_jumps(received);
  shutdown(received, SHUT_WR);
  drain(received);
  sender.join();

  const int sent = connect_to(argv[1]);
  talk(sent, 300);
  std::thread drainer = without_alarms([sent] { drain(sent); });
  std::array<unsigned char, 3000> bytes{};
  leave_often([&] { need(send(sent, bytes.data(), bytes.size(), 0) > 0, "send"); });
  shutdown(sent, SHUT_WR);
  drainer.join();
  close(sent);

  const int fresh = connect_to(argv[1]);
  talk(fresh, 300);
  std::puts("done");
  return 0;
}
