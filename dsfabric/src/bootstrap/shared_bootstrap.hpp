// SPDX-License-Identifier: MIT
// The bootstrap of a fabric, which is for one thread at a time, shared by its
// threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsfabric/bootstrap.hpp"
#include "dsfabric/elastic_job.hpp"
#include "dtutils/mutex.hpp"

namespace dsfabric {

/// Any thread (takes a lock), as the methods of Bootstrap.
class SharedBootstrap {
 public:
  explicit SharedBootstrap(std::unique_ptr<Bootstrap> bootstrap) noexcept
      : bootstrap_(std::move(bootstrap)) {}

  std::uint32_t rank() const noexcept { return bootstrap_->rank(); }
  std::uint32_t size() const noexcept { return bootstrap_->size(); }
  std::string name() const { return bootstrap_->name(); }
  int failure_fd() const noexcept { return bootstrap_->failure_fd(); }

  std::vector<Bytes> all_gather(std::span<const std::byte> mine, std::chrono::milliseconds limit) {
    const std::scoped_lock lock(mutex_);
    return bootstrap_->all_gather(mine, limit);
  }
  std::vector<Bytes> all_to_all(std::span<const Bytes> mine, std::chrono::milliseconds limit) {
    const std::scoped_lock lock(mutex_);
    return bootstrap_->all_to_all(mine, limit);
  }
  void barrier(std::chrono::milliseconds limit) {
    const std::scoped_lock lock(mutex_);
    bootstrap_->barrier(limit);
  }
  void goodbye() noexcept {
    const std::scoped_lock lock(mutex_);
    bootstrap_->goodbye();
  }
  /// nullptr: the processes of the job are fixed.
  ElasticJob* elastic() const noexcept { return bootstrap_->elastic(); }
  /// Numbers that processes may have: size(), unless the job is elastic.
  std::uint32_t capacity() const noexcept {
    return elastic() != nullptr ? elastic()->capacity() : size();
  }
  bool relays() const noexcept { return bootstrap_->relays(); }
  /// To all others where `to` is capacity(). Never waits. Throws std::bad_alloc.
  void send(std::uint32_t to, std::span<const std::byte> bytes) { bootstrap_->send(to, bytes); }
  /// `letter` gets what others have sent, and `failed` the processes that ended without goodbye, or
  /// `event` what has happened to members of an elastic job, in their order. Without letters, there
  /// is no news while a collective runs, which its own limit guards. One thread at a time. Never
  /// waits.
  template <class OnLetter, class OnFailed, class OnEvent>
  void hear(OnLetter letter, OnFailed failed, OnEvent event) noexcept {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!relays() && !lock.try_lock()) return;
    for (bool news = true; news;) {
      news = false;
      while (const auto came = bootstrap_->next_letter()) {
        letter(came->from, came->bytes);
        news = true;
      }
      while (const auto ended = bootstrap_->next_failed()) {
        failed(*ended);
        news = true;
      }
      while (elastic() != nullptr) {
        const auto happened = elastic()->next_event();
        if (!happened) break;
        event(*happened);
        news = true;
      }
    }
  }

 private:
  const std::unique_ptr<Bootstrap> bootstrap_;
  dtutils::Mutex mutex_;
};

}  // namespace dsfabric
