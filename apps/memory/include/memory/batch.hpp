// SPDX-License-Identifier: MIT
// Many operations under one wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/client.hpp"

namespace memory {

/// Operations that are under way together:
///
///     memory::Batch batch(client);
///     for (std::size_t i = 0; i < pointers.size(); ++i) batch.read(pointers[i], values[i]);
///     client.require(batch.wait());
///
/// May be used again after a wait. Destroyed with operations under way it waits for them. Owner
/// thread only; the Client outlives it.
class Batch {
 public:
  /// Without operations. Allocates nothing.
  explicit Batch(Client& client) noexcept : client_(client) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() { (void)wait(); }

  /// Client::read, later: `into` is there after wait().
  template <class T>
  void read(const GlobalPtr<T>& pointer, T& into, ReadMode mode = ReadMode::kValidated) {
    read(pointer, std::span<T>(&into, 1), mode);
  }
  /// The same of several elements.
  template <class T>
  void read(const GlobalPtr<T>& pointer, std::span<T> into, ReadMode mode = ReadMode::kValidated) {
    client_.start_read(pointer, into, mode, Ended{this});
    ++pending_;
  }
  /// Client::write, later; the value is copied at once.
  template <class T>
  void write(const GlobalPtr<T>& pointer, const T& value, WriteOptions options = {}) {
    write(pointer, std::span<const T>(&value, 1), options);
  }
  /// The same of several elements, as one.
  template <class T>
  void write(const GlobalPtr<T>& pointer, std::span<const T> values, WriteOptions options = {}) {
    client_.start_write(pointer, values, options, Ended{this});
    ++pending_;
  }
  /// Client::fetch_add, later: `before` is there after wait().
  void fetch_add(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t addend,
                 std::uint64_t& before) {
    client_.start_fetch_add(pointer, addend, before, Ended{this});
    ++pending_;
  }
  /// Client::compare_and_swap, later: `before` is there after wait().
  void compare_and_swap(const GlobalPtr<std::uint64_t>& pointer, std::uint64_t expected,
                        std::uint64_t desired, std::uint64_t& before) {
    client_.start_compare_and_swap(pointer, expected, desired, before, Ended{this});
    ++pending_;
  }

  /// Waits for all of them, serving incoming calls. kDone, or the first other status.
  Status wait() {
    client_.wait_until([this] { return pending_ == 0; });
    const Status status = status_;
    status_ = Status::kDone;
    return status;
  }
  /// Operations that have not ended.
  std::size_t pending() const noexcept { return pending_; }

 private:
  struct Ended {
    Batch* batch;
    void operator()(Status status) const noexcept {
      --batch->pending_;
      if (batch->status_ == Status::kDone) batch->status_ = status;
    }
  };

  Client& client_;
  std::size_t pending_ = 0;
  Status status_ = Status::kDone;
};

}  // namespace memory
