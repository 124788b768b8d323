// SPDX-License-Identifier: MIT
// A program that says what less common calls answer: caller CARRIED. The test holds what it says
// over TCP against what it says over a stream. Both sides of each connection are in this process.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cancelled_threads.hpp"
#include "carried_pair.hpp"
#include "epoll_answers.hpp"
#include "receive_answers.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool carried = false;
volatile sig_atomic_t signals = 0;

template <class Call>
void say_whether_waits(const char* what, Call call) {
  const auto begun = steady_clock::now();
  say(what, call());
  std::printf("waits: %d\n", steady_clock::now() - begun > milliseconds(40));
}

void set_limit(int fd, int option, long microseconds) {
  const timeval limit{0, microseconds};
  say("time limit", setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit));
}

void messages() {
  Pair pair(carried);
  std::array<std::array<char, 4>, 3> bytes{};
  std::array<iovec, 3> parts{};
  std::array<mmsghdr, 3> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    parts[i] = {bytes[i].data(), bytes[i].size()};
    all[i].msg_hdr.msg_iov = &parts[i];
    all[i].msg_hdr.msg_iovlen = 1;
  }
  say("sendmmsg", sendmmsg(pair.one, all.data(), 3, 0));
  nap(10);
  say("recvmmsg", recvmmsg(pair.other, all.data(), 3, MSG_DONTWAIT, nullptr));
  put(pair.one, "four");
  say("the first only", recvmmsg(pair.other, all.data(), 3, MSG_WAITFORONE, nullptr));
  set_limit(pair.other, SO_RCVTIMEO, 60'000);
  put(pair.one, "four");
  say_whether_waits("all", [&] { return recvmmsg(pair.other, all.data(), 3, 0, nullptr); });
  all[0].msg_hdr.msg_iovlen = IOV_MAX + 1;
  say("too many parts", sendmsg(pair.one, &all[0].msg_hdr, 0));
  say("too many parts", recvmsg(pair.other, &all[0].msg_hdr, 0));
}

void parts() {
  Pair pair(carried);
  std::string bytes(2048, ' ');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  std::string copy(bytes.size(), ' ');
  std::vector<iovec> from, into;
  for (std::size_t i = 0; i < IOV_MAX; ++i) {
    from.push_back({bytes.data() + 2 * i, 2});
    into.push_back({copy.data() + 2 * i, 2});
  }
  say("writev", writev(pair.one, from.data(), IOV_MAX));
  nap(10);
  say("readv", readv(pair.other, into.data(), IOV_MAX));
  std::printf("the same: %d\n", bytes == copy);
  say("pwritev2", pwritev2(pair.one, from.data(), 3, -1, 0));
  nap(10);
  say("receive", take(pair.other));
  say("writev", writev(pair.one, from.data(), 3));
  nap(10);
  say("preadv2", preadv2(pair.other, into.data(), 2, -1, 0));
  say("preadv2 of what is there", preadv2(pair.other, into.data(), 2, -1, RWF_NOWAIT));
  say("preadv2 of what is not there", preadv2(pair.other, into.data(), 2, -1, RWF_NOWAIT));
  say("preadv2 at a place", preadv2(pair.other, into.data(), 2, 0, 0));
}

void waits() {
  Pair pair(carried);
  const auto receive = [&] { return take(pair.one, 0); };
  set_limit(pair.one, SO_RCVTIMEO, 60'000);
  say_whether_waits("with a limit", receive);
  int on = 1;
  say("FIONBIO", ioctl(pair.one, FIONBIO, &on));
  say_whether_waits("without blocking", receive);
  on = 0;
  say("FIONBIO", ioctl(pair.one, FIONBIO, &on));
  say_whether_waits("blocking", receive);
  say("F_SETFL", fcntl(pair.one, F_SETFL, O_NONBLOCK));
  say_whether_waits("without blocking", receive);
  const int copy = dup(pair.one);
  say("F_SETFL of a copy", fcntl(copy, F_SETFL, 0));
  close(copy);
  say_whether_waits("blocking", receive);
  set_limit(pair.one, SO_RCVTIMEO, 0);
  std::thread late([&] {
    nap(100);
    put(pair.other, "late");
  });
  say_whether_waits("without a limit", receive);
  late.join();
}

void masks() {
  Pair pair(carried);
  struct sigaction action {};
  action.sa_handler = [](int) { signals = signals + 1; };
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t blocked, none;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  timespec time{0, 30'000'000};
  pollfd entry{pair.other, POLLIN, 0};
  pthread_kill(pthread_self(), SIGUSR1);
  say("ppoll with a signal", ppoll(&entry, 1, &time, &none));
  put(pair.one, "x");
  pthread_kill(pthread_self(), SIGUSR1);
  say("ppoll with bytes and a signal", ppoll(&entry, 1, &time, &none));
  std::printf("signals: %d\n", static_cast<int>(signals));
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  std::printf("signals: %d\n", static_cast<int>(signals));
  time.tv_nsec = -1;
  say("ppoll for less than no time", ppoll(&entry, 1, &time, nullptr));
  time = {LONG_MAX, 0};
  say("ppoll for ever", ppoll(&entry, 1, &time, nullptr));
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pair.other, &set);
  timeval limit{0, -5};
  say("select for less than no time", select(pair.other + 1, &set, nullptr, nullptr, &limit));
}

void disconnect() {
  Pair pair(carried);
  sockaddr_in nobody{};
  nobody.sin_family = AF_UNSPEC;
  say("disconnect", connect(pair.one, Pair::as_any(nobody), sizeof nobody));
  say("receive", take(pair.one));
  say("connect", connect(pair.one, Pair::as_any(pair.name), sizeof pair.name));
  const int next = accept(pair.listener, nullptr, nullptr);
  put(pair.one, "new");
  say("receive", take(next));
  close(next);
}

void files() {
  Pair pair(carried);
  const int file = open("/proc/self/exe", O_RDONLY);
  std::array<int, 2> pipes;
  need(pipe(pipes.data()) == 0, "pipe");
  off_t offset = -1;
  say("sendfile from a negative place", sendfile(pair.one, file, &offset, 5));
  say("sendfile from a pipe", sendfile(pair.one, pipes[0], nullptr, 5));
  say("sendfile from a socket", sendfile(pair.one, pair.other, nullptr, 5));
  say("dprintf", dprintf(pair.one, "%d words", 2));
  nap(10);
  say("receive", take(pair.other));
  FILE* const words = fdopen(dup(pair.one), "r+");
  need(words != nullptr, "fdopen");
  std::printf("has a descriptor: %d\n", fileno(words) > 2);
  std::fprintf(words, "flushed");
  say("fflush", std::fflush(words));
  nap(10);
  say("receive", take(pair.other));
  put(pair.other, "a line\n");
  std::array<char, 20> line{};
  need(std::fgets(line.data(), line.size(), words) != nullptr, "fgets");
  std::printf("%s", line.data());
  // A read is followed by a write.
  std::fseek(words, 0, SEEK_CUR);
  std::fprintf(words, "at the end");
  say("fclose", std::fclose(words));
  nap(10);
  say("receive", take(pair.other));
  close(file);
  close(pipes[0]);
  close(pipes[1]);
}

/// What a program has in a pipe goes to a stream as well.
void splices() {
  Pair pair(carried);
  std::array<int, 2> pipes;
  need(pipe(pipes.data()) == 0, "pipe");
  need(write(pipes[1], "spliced", 7) == 7, "write");
  const auto splice_out = [&](unsigned flags) {
    return splice(pipes[0], nullptr, pair.one, nullptr, 100, flags);
  };
  say("splice", splice_out(0));
  nap(10);
  say("receive", take(pair.other));
  say("splice from an empty pipe", splice_out(SPLICE_F_NONBLOCK));
  // More than the connection takes: the pipe keeps the rest.
  need(fcntl(pair.one, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
  const std::string bytes(60'000, 'p');
  ssize_t put_in = 0, sent = 0, got = 0;
  for (int i = 0; i < 200; ++i) {
    if (put_in == sent) put_in += write(pipes[1], bytes.data(), bytes.size());
    const ssize_t now = splice(pipes[0], nullptr, pair.one, nullptr, bytes.size(), 0);
    if (now > 0) sent += now;
    if (i % 3 == 2) got += std::max<ssize_t>(0, take(pair.other));
  }
  while (sent < put_in || got < sent) {
    const ssize_t now =
        splice(pipes[0], nullptr, pair.one, nullptr, bytes.size(), SPLICE_F_NONBLOCK);
    if (now > 0) sent += now;
    got += std::max<ssize_t>(0, take(pair.other));
  }
  std::printf("all of them: %d\n", got == put_in);
  close(pipes[1]);
  say("splice from a pipe that has ended", splice_out(0));
  close(pipes[0]);
}

/// The kernel says when it has sent from the program's memory, or the program is told that it
/// will not.
void notices() {
  Pair pair(carried);
  const int on = 1;
  if (setsockopt(pair.one, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0) {
    need(send(pair.one, "zero", 4, MSG_ZEROCOPY) == 4, "send");
    pollfd entry{pair.one, 0, 0};
    need(poll(&entry, 1, 10'000) == 1, "notice");
  } else {
    need(errno == EOPNOTSUPP, "SO_ZEROCOPY");
  }
  // Once there is a stream; before, the connection stays with TCP.
  Pair::pass(pair.other, pair.one);
}

}  // namespace

int main(int, char** arguments) {
  carried = arguments[1][0] == '1';
  signal(SIGPIPE, SIG_IGN);
  alarm(60);
  for (auto* const part : {messages, parts, waits, masks, disconnect, files, splices, notices}) {
    part();
  }
  say_receive_answers(carried);
  say_epoll_answers(carried);
  cancel_threads(carried);
}
