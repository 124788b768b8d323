// SPDX-License-Identifier: MIT
// What a bootstrap of a job does, beside connecting processes, when they may come and go.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dsfabric {

/// What has happened to the members of an elastic job.
struct JobEvent {
  /// kJoined: a process has become a member. kLeft: one has said goodbye. kFailed: one has ended
  /// without goodbye, or was accused; nothing that it does afterwards counts.
  enum class Kind : std::uint8_t { kJoined = 1, kLeft = 2, kFailed = 3 };

  /// Which of them.
  Kind kind;
  /// Its number; ElasticJob::capacity() for the launcher itself, whose end ends the events.
  std::uint32_t process;
  /// Of kJoined: what the process has introduced itself with. Of kFailed: the reason in words.
  std::vector<std::byte> bytes;
};

/// The launcher's side of a job whose processes may come, leave and be replaced while it runs. It
/// puts what happens into one order. Each member gets all events of the job from its beginning on,
/// each once, in this order, also those from before it came; so a newcomer knows the members when
/// it gets the event of its own joining.
///
/// Numbers of processes are given once: those below Bootstrap::size() to the founders, who start
/// the job and alone take part in its collectives; the following ones, below capacity(), to
/// newcomers in the order of their greetings.
class ElasticJob {
 public:
  ElasticJob() = default;
  ElasticJob(const ElasticJob&) = delete;
  ElasticJob& operator=(const ElasticJob&) = delete;
  virtual ~ElasticJob() = default;

  /// Processes that the job may have in the course of its life; to send() it stands for all other
  /// members. Any thread, wait-free.
  virtual std::uint32_t capacity() const noexcept = 0;
  /// Becomes a member, and tells all members, those that come later included, what they need to
  /// know of this process. Once; setup only.
  virtual void introduce(std::span<const std::byte> bytes) = 0;
  /// The next event; none while a letter is to be read before. Never waits. One thread at a time,
  /// that of Bootstrap::next_letter.
  virtual std::optional<JobEvent> next_event() noexcept = 0;
  /// Asks that a member be given up, for this reason. Who asks breaks its connections with it
  /// before its program hears of it. The first one to be accused is given up; who has been given up
  /// accuses nobody any more. Never waits. Throws std::bad_alloc. Any thread.
  virtual void accuse(std::uint32_t process, std::string_view reason) = 0;
};

}  // namespace dsfabric
