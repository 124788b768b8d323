// SPDX-License-Identifier: MIT
// What processes that have one connection share once its stream is given back to TCP.
#pragma once

#include <pthread.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace preload {

/// In memory that all processes share which the first one forked. A connection's stream belongs to
/// one process, its owner. When another one wants to use the connection, the owner ends the stream,
/// so that the peer goes on with TCP, and leaves what it receives until then here, for whoever
/// reads first. Fresh pages, which are zero, are a valid one.
class Returned {
 public:
  /// Whether the bytes after those that wait here come over TCP.
  enum class Next : std::uint8_t {
    /// The owner will bring them.
    kOwner,
    kTcp,
    /// They are lost: the connection is reset.
    kLost,
  };

  /// By the owner, before the first fork.
  void begin() noexcept;

  // Any process, without the lock.
  /// Another process wants the connection. Whether this was the first to say so.
  bool ask() noexcept { return !asked_.exchange(true); }
  bool asked() const noexcept { return asked_.load(std::memory_order_acquire); }
  /// By the owner, before it ends the stream with a word; false: it shall not.
  bool give() noexcept { return decide(Fate::kGiven); }
  /// A process that has the connection becomes another program, which knows of no word, so none
  /// shall be said. False: it has been, or will be.
  bool leave_to_program() noexcept { return decide(Fate::kProgram); }
  bool given() const noexcept { return fate_.load(std::memory_order_acquire) == Fate::kGiven; }
  bool has_program() const noexcept {
    return fate_.load(std::memory_order_acquire) == Fate::kProgram;
  }
  /// By the owner: whether another process could go on with the connection if the owner died now:
  /// both directions go over the stream, and no byte is in memory of the owner alone.
  void set_resumable(bool resumable) noexcept {
    resumable_.store(resumable, std::memory_order_release);
  }
  bool resumable() const noexcept { return resumable_.load(std::memory_order_acquire); }
  /// By another process, when the owner has died without giving the stream back: it says the word
  /// instead. False: nobody shall.
  bool inherit() noexcept { return decide(Fate::kInherited); }
  bool inherited() const noexcept {
    return fate_.load(std::memory_order_acquire) == Fate::kInherited;
  }
  /// The owner sends nothing more over its stream, and has said so to the peer.
  void let_send() noexcept { sends_.store(true, std::memory_order_release); }
  /// The owner has closed the connection, and brings nothing more.
  void abandon() noexcept { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire); }
  bool may_send() const noexcept { return sends_.load(std::memory_order_acquire); }
  Next next() const noexcept { return next_.load(std::memory_order_acquire); }
  /// The connection is reset, whoever says so.
  void lose() noexcept { next_.store(Next::kLost, std::memory_order_release); }
  /// What is read next comes over TCP.
  bool receives_tcp() const noexcept { return next() == Next::kTcp && size() == 0; }
  std::size_t size() const noexcept { return end() - begin_.load(std::memory_order_acquire); }
  /// How many bytes were ever left here.
  std::uint64_t end() const noexcept { return end_.load(std::memory_order_acquire); }

  /// Who reads, or writes, or looks at TCP for the owner, has it. Not for long: who cannot have it
  /// within a second, or finds that its last one died with it while `Hearing`, gives the connection
  /// up. Who dies otherwise has changed nothing, or a count tells.
  class Lock {
   public:
    explicit Lock(Returned& of) noexcept;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
    explicit operator bool() const noexcept { return has_; }

   private:
    Returned& of_;
    bool has_;
  };

  // With the lock.
  /// While a word is taken off TCP, and before what it says is noted here: who dies then takes it
  /// along.
  class Hearing {
   public:
    explicit Hearing(Returned& of) noexcept : of_(of) { of_.hearing_ = true; }
    Hearing(const Hearing&) = delete;
    Hearing& operator=(const Hearing&) = delete;
    ~Hearing() { of_.hearing_ = false; }

   private:
    Returned& of_;
  };
  void go_on_with_tcp() noexcept { next_.store(Next::kTcp, std::memory_order_release); }
  /// Free memory for more bytes: in two pieces, of which either may be empty. None while too many
  /// other connections have theirs.
  std::array<iovec, 2> room() noexcept;
  void add(std::size_t bytes) noexcept;
  /// The bytes that wait.
  std::array<iovec, 2> bytes() const noexcept;
  void drop(std::size_t bytes) noexcept;
  /// For a process that goes on when the owner has ended: how many bytes of the stream the owner
  /// has left here, when those before the stream are all here, too.
  void tell_taken(std::uint64_t bytes) noexcept {
    taken_ = bytes;
    knows_taken_ = true;
  }
  bool knows_taken() const noexcept { return knows_taken_; }
  /// For one that goes on when the owner has ended before others may send: the word that the owner
  /// says, and how many bytes the kernel has taken for TCP before.
  void tell_word(std::uint64_t word, std::uint64_t written) noexcept {
    word_ = word;
    written_ = written;
    knows_word_ = true;
  }
  bool knows_word() const noexcept { return knows_word_; }
  std::uint64_t word() const noexcept { return word_; }
  std::uint64_t written() const noexcept { return written_; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  enum class Fate : std::uint8_t { kOpen, kGiven, kProgram, kInherited };

  /// Whether it is this one, now or since it was decided.
  bool decide(Fate fate) noexcept {
    Fate now = Fate::kOpen;
    return fate_.compare_exchange_strong(now, fate) || now == fate;
  }

  pthread_mutex_t mutex_;
  std::atomic<bool> asked_;
  std::atomic<Fate> fate_;
  std::atomic<bool> resumable_;
  std::atomic<bool> sends_;
  std::atomic<bool> abandoned_;
  std::atomic<Next> next_;
  bool knows_taken_;
  bool knows_word_;
  bool hearing_;
  /// Which part of the memory for bytes it has, from 1 on; 0: none, as long as no byte waits.
  std::uint32_t place_;
  std::atomic<std::uint64_t> begin_;
  std::atomic<std::uint64_t> end_;
  std::uint64_t taken_;
  std::uint64_t word_;
  std::uint64_t written_;
};

/// Makes the memory for bytes. When the library is loaded, before anybody forks.
void prepare_returned() noexcept;

}  // namespace preload
