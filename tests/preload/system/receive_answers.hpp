// SPDX-License-Identifier: MIT
// What receives answer that peek, discard, or are interrupted.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>

#include "answers.hpp"
#include "carried_pair.hpp"

inline void peeks(bool carried) {
  Pair pair(carried);
  put(pair.one, "0123456789");
  std::array<char, 2> first{};
  std::array<char, 20> second{};
  std::array<iovec, 2> parts{{{first.data(), first.size()}, {second.data(), second.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  say("peek into parts", recvmsg(pair.other, &message, MSG_PEEK));
  std::printf("%.2s %s\n", first.data(), second.data());
  std::array<char, 30> all{};
  const auto peek_all = [&](std::size_t bytes) {
    say("peek for all", recv(pair.other, all.data(), bytes, MSG_PEEK | MSG_WAITALL));
  };
  std::thread late([&] {
    nap(60);
    put(pair.one, "abcdefghij");
    nap(60);
    shutdown(pair.one, SHUT_WR);
  });
  peek_all(20);
  std::printf("%s\n", all.data());
  // The end comes before so many.
  peek_all(30);
  say("does not wait", recv(pair.other, all.data(), 30, MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT));
  late.join();
  say("receive", take(pair.other));
  peek_all(30);
}

inline void discards(bool carried) {
  Pair pair(carried);
  const std::string bytes(50'000, 'q');
  std::thread sender([&] {
    need(send(pair.one, bytes.data(), bytes.size(), 0) == 50'000, "send");
    put(pair.one, "tail");
  });
  say("discard", recv(pair.other, nullptr, bytes.size(), MSG_TRUNC | MSG_WAITALL));
  sender.join();
  say("discard a part", recv(pair.other, nullptr, 3, MSG_TRUNC));
  say("discard what is there", recv(pair.other, nullptr, bytes.size(), MSG_TRUNC));
  say("discard without blocking", recv(pair.other, nullptr, 3, MSG_TRUNC | MSG_DONTWAIT));
}

/// Two handlers, of which one was installed without SA_RESTART: the one that ran decides.
inline void interruptions(bool carried) {
  Pair pair(carried);
  struct sigaction restarts {};
  restarts.sa_handler = [](int) {};
  struct sigaction ends = restarts;
  restarts.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &restarts, nullptr);
  sigaction(SIGUSR2, &ends, nullptr);
  const pthread_t receiver = pthread_self();
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    for (const bool part : {false, true}) {
      if (part) put(pair.one, "part");
      std::thread late([&] {
        nap(60);
        pthread_kill(receiver, signal);
        nap(60);
        put(pair.one, "late");
      });
      std::array<char, 8> into;
      say("interrupted", recv(pair.other, into.data(), part ? 8 : 4, MSG_WAITALL));
      late.join();
      say("receive", take(pair.other));
    }
    char byte;
    std::thread late([&] {
      nap(60);
      pthread_kill(receiver, signal);
      nap(60);
      put(pair.one, "late");
    });
    say("interrupted", recv(pair.other, &byte, 1, 0));
    late.join();
    say("receive", take(pair.other));
  }
}

inline void say_receive_answers(bool carried) {
  peeks(carried);
  discards(carried);
  interruptions(carried);
}
