// SPDX-License-Identifier: MIT
// A process' view of its job, as PMIx has it.
#pragma once

#include <pmix.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/pmix_library.hpp"

namespace dsfabric {

/// What happens between two fences is seen by all after the second one. One thread; setup only,
/// where nothing else is said.
class PmixJob {
 public:
  /// Throws Error when the launcher cannot be reached, or no descriptors are left.
  PmixJob();
  PmixJob(const PmixJob&) = delete;
  PmixJob& operator=(const PmixJob&) = delete;
  ~PmixJob();

  std::uint32_t rank() const noexcept { return self_.rank; }
  std::uint32_t size() const noexcept { return size_; }
  /// All its processes are on this host.
  bool on_one_host() const noexcept { return local_size_ == size_; }

  /// Everybody's bytes, by rank. A collective of all processes. Throws Error when not all come
  /// within `limit`.
  std::vector<Bytes> all_gather(std::span<const std::byte> mine, std::chrono::milliseconds limit);

  /// Readable when next_ended() has news.
  int news_fd() const noexcept { return pipe_[0]; }
  /// A process that ended, and not in order as far as PMIx knows; size() for the launcher itself.
  /// Not every launcher tells. Never waits.
  std::optional<std::uint32_t> next_ended() noexcept;

 private:
  [[noreturn]] void refuse(const std::string& happened, pmix_status_t status) const;
  /// A number that the launcher knows of the job; `otherwise` where it does not.
  std::uint32_t number(const char* key, std::optional<std::uint32_t> otherwise);
  void watch_ends();
  void put(const std::string& key, std::span<const std::byte> mine);
  void fence(std::chrono::milliseconds limit);
  Bytes get(const std::string& key, std::uint32_t rank);
  void release(pmix_value_t* value) const;

  const PmixLibrary pmix_ = load_pmix();
  pmix_proc_t self_{};
  std::uint32_t size_ = 1;
  std::uint32_t local_size_ = 0;
  std::uint32_t gathers_ = 0;
  std::array<int, 2> pipe_{-1, -1};
};

}  // namespace dsfabric
