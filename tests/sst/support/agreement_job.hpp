// SPDX-License-Identifier: MIT
// What tests of agreement share: a member that keeps what was decided, and who is gone in words.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "dtutils/clock.hpp"
#include "dtutils/wait.hpp"
#include "sst/membership.hpp"
#include "sst/support/table_job.hpp"

namespace support {

/// Who is gone as this process believes, and why: for messages of failing tests.
inline std::string who_is_gone(const dsfabric::Fabric& fabric) {
  std::string text;
  for (std::uint16_t i = 0; i < fabric.processes(); ++i) {
    if (fabric.failed({i})) {
      text += fmt::format("; process {} failed: {}", i, fabric.failure_reason({i}));
    } else if (fabric.state({i}) == dsfabric::PeerState::kLeft) {
      text += fmt::format("; process {} left", i);
    }
  }
  return text.empty() ? "; nobody is gone" : text;
}

/// Where an Agreement or Membership stands.
template <class Target>
std::string standing(const dsfabric::Fabric& fabric, const Target& target) {
  constexpr const char* kStates[] = {"working", "no quorum", "removed"};
  return kStates[static_cast<std::size_t>(target.state())] + who_is_gone(fabric);
}

/// Fails with `what`, and where `target` stands, unless `condition` holds.
template <class Target>
void require_of(const dsfabric::Fabric& fabric, const Target& target, bool condition,
                const std::string& what, Where where = Where::current()) {
  if (!condition) fail(what + " (" + standing(fabric, target) + ")", where);
}

/// Evaluates an Agreement or Membership as long as `more`; fails as require_of when that takes too
/// long.
template <class Target>
void evaluate_while(const dsfabric::Fabric& fabric, Target& target,
                    const std::function<bool()>& more, const std::string& what,
                    Where where = Where::current()) {
  const auto end = dtutils::Clock::now() + kPatience;
  while (more()) {
    if (!target.evaluate()) dtutils::give_way();
    require_of(fabric, target, dtutils::Clock::now() < end, what, where);
  }
}

/// A process of a job that agrees on numbers.
struct AgreeingNode : TableNode {
  using Decided = std::function<void(std::uint64_t number, std::uint64_t value)>;

  explicit AgreeingNode(Member& job_member, sst::Quorum quorum = sst::Quorum::kMajority,
                        Decided also = {})
      : TableNode(job_member),
        member(job_member),
        agreement(
            group, {},
            [this, also = std::move(also)](std::uint64_t number, const std::uint64_t& value) {
              require_equal(number, decided.size() + 1, "number");
              decided.push_back(value);
              if (also) also(number, value);
            },
            quorum) {}

  void evaluate_while(const std::function<bool()>& more, const std::string& what,
                      Where where = Where::current()) {
    support::evaluate_while(fabric, agreement, more, what, where);
  }
  /// Evaluates until a rule has done something, which is its vote when a proposal is all that there
  /// is to come: the proposal may land after the word that tells of it.
  void vote(Where where = Where::current()) {
    const bool voted = eventually([&] { return agreement.evaluate(); });
    require_of(fabric, agreement, voted, "a vote", where);
  }
  /// Waits, without evaluating, until `count` members have counted up a word of the job's memory.
  void await(std::size_t word, std::uint64_t count, Where where = Where::current()) {
    const bool came = eventually([&] { return member.memory.words[word] >= count; });
    require_of(fabric, agreement, came,
               fmt::format("word {} is {}", word, member.memory.words[word].load()), where);
  }
  /// Waits, without evaluating, until these have failed and are cut off.
  void await_deaths(std::initializer_list<std::uint16_t> dead, Where where = Where::current()) {
    const auto all = [&] {
      return std::all_of(dead.begin(), dead.end(),
                         [&](std::uint16_t process) { return group.cut_off({process}); });
    };
    const bool noticed = eventually(all);
    require_of(fabric, agreement, noticed, "the deaths are noticed", where);
  }
  /// Counts up a word, and evaluates on, because others need this member's votes and decisions,
  /// until `members` have come to it.
  void evaluate_until_all(std::size_t word, std::uint64_t members, const std::string& what,
                          Where where = Where::current()) {
    member.memory.words[word]++;
    evaluate_while([&] { return member.memory.words[word] < members; }, what, where);
  }

  Member& member;
  std::vector<std::uint64_t> decided;
  sst::Agreement<std::uint64_t> agreement;
};

}  // namespace support
