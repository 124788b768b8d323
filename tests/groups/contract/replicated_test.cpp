// SPDX-License-Identifier: MIT
// Replicated objects: one order of updates, answers, reads, state for those who join, failure.
#include <stdexcept>
#include <string>
#include <vector>

#include "groups/groups.hpp"
#include "sst/support/table_job.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using groups::Answer;
using groups::AnswerState;
using groups::Replicated;
using groups::SendStatus;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

/// Order makes a difference.
struct Chain {
  std::uint64_t value = 1;
  std::uint64_t updates = 0;
};

/// A state that is no plain data.
struct Words {
  std::vector<std::string> all;
  std::vector<std::byte> snapshot() const {
    std::vector<std::byte> bytes;
    for (const std::string& word : all) {
      for (const char c : word) bytes.push_back(static_cast<std::byte>(c));
      bytes.push_back(std::byte{0});
    }
    return bytes;
  }
  void restore(std::span<const std::byte> state) {
    all.clear();
    std::string word;
    for (const std::byte byte : state) {
      if (byte != std::byte{0}) {
        word += static_cast<char>(byte);
      } else {
        all.push_back(std::exchange(word, {}));
      }
    }
  }
};

template <class T>
class ObjectNode : public support::TableNode {
 public:
  explicit ObjectNode(Member& member, groups::GroupOptions options = {}, std::uint32_t pending = 64)
      : TableNode(member),
        object_member(member),
        pace(fabric),
        object(group, std::move(options), T{}, pending) {}
  template <class Done>
  void until(const Done& done, const std::string& what) {
    const auto end = std::chrono::steady_clock::now() + support::kPatience;
    while (!done()) {
      require(std::chrono::steady_clock::now() < end, what);
      try {
        pace.after(object.progress());
      } catch (const std::runtime_error& error) {
        if (std::string(error.what()) != "thrown by an update") throw;
        ++thrown;
      }
    }
  }
  /// As support::meet, with progress.
  void meet(std::size_t at, std::uint64_t processes) {
    object_member.memory.words[at]++;
    until([&] { return object_member.memory.words[at] >= processes; }, "all come");
  }
  template <class F>
  void update(const F& change) {
    until([&] { return object.try_update(change) == SendStatus::kAccepted; }, "accepted");
  }

  Member& object_member;
  sst::Pace pace;
  Replicated<T> object;
  /// By updates.
  int thrown = 0;
};

}  // namespace

TEST_CASE("updates_run_in_one_order_at_all_members") {
  constexpr std::uint64_t kEach = 300;
  ForkJob job(3, [&](Member& member) {
    ObjectNode<Chain> node(member);
    std::uint64_t answered = 0;
    for (std::uint64_t i = 0; i < kEach; ++i) {
      Answer<std::uint64_t> answer;
      const auto change = [i, factor = 2 * member.rank + 3](Chain& chain) {
        chain.value = chain.value * factor + i;
        return ++chain.updates;
      };
      node.until([&] { return node.object.try_update(change, &answer) == SendStatus::kAccepted; },
                 "accepted");
      require(answer.state() == AnswerState::kPending, "it waits for its place");
      node.until([&] { return answer.ready(); }, "answered");
      require(answer.value() > answered, "later updates have later places");
      answered = answer.value();
    }
    node.until(
        [&] { return node.object.query([](const Chain& c) { return c.updates; }) == 3 * kEach; },
        "all updates");
    member.memory.words[10 + member.rank] =
        node.object.query([](const Chain& c) { return c.value; });
    node.meet(0, 3);
    for (int i = 0; i < 3; ++i) {
      require_equal(member.memory.words[10 + i].load(), member.memory.words[10].load(), "states");
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("as_many_pending_updates_as_no_power_of_two_says_are_refused") {
  ForkJob job(1, [](Member& member) {
    ObjectNode<Chain> node(member);
    for (const std::uint32_t pending : {0u, 3u}) {
      const std::string text = support::error_text(
          [&] { groups::Replicated<Chain> bad(node.group, {.name = "bad"}, {}, pending); });
      require(text.find("pending updates") != std::string::npos, text);
    }
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_read_sees_all_that_was_answered_before_it") {
  ForkJob job(2, [](Member& member) {
    ObjectNode<Chain> node(member);
    for (std::uint64_t i = 1; i <= 100; ++i) {
      // One updates, is answered, and says so; the other reads.
      if (member.rank == 0) {
        Answer<void> done;
        node.until(
            [&] {
              return node.object.try_update([i](Chain& c) { c.updates = i; }, &done) ==
                     SendStatus::kAccepted;
            },
            "accepted");
        node.until([&] { return done.ready(); }, "done");
        member.memory.words[1] = i;
        node.until([&] { return member.memory.words[2] == i; }, "read");
      } else {
        node.until([&] { return member.memory.words[1] == i; }, "told");
        Answer<std::uint64_t> seen;
        node.until(
            [&] {
              return node.object.try_read([](const Chain& c) { return c.updates; }, &seen) ==
                     SendStatus::kAccepted;
            },
            "accepted");
        node.until([&] { return seen.ready(); }, "seen");
        require_equal(seen.value(), i, "what was answered before");
        member.memory.words[2] = i;
      }
    }
    node.meet(0, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("what_an_update_throws_comes_out_at_all_members_and_the_next_one_runs") {
  ForkJob job(2, [](Member& member) {
    ObjectNode<Chain> node(member);
    Answer<void> answer;
    if (member.rank == 0) {
      node.until(
          [&] {
            return node.object.try_update(
                       [](Chain& c) {
                         ++c.updates;
                         throw std::runtime_error("thrown by an update");
                       },
                       &answer) == SendStatus::kAccepted;
          },
          "accepted");
      node.update([](Chain& c) { c.value = 7; });
    }
    node.until([&] { return node.object.query([](const Chain& c) { return c.value; }) == 7; },
               "the next one");
    require_equal(node.thrown, 1, "at both");
    require(answer.state() == (member.rank == 0 ? AnswerState::kThrew : AnswerState::kNone),
            "the sender knows");
    node.meet(0, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("no_more_updates_wait_than_were_asked_for_and_an_answer_may_end_early") {
  ForkJob job(2, [](Member& member) {
    ObjectNode<Chain> node(member, {}, 4);
    if (member.rank == 0) {
      node.until([&] { return node.object.group().state() == groups::GroupState::kWorking; },
                 "it works");
      const auto add = [](Chain& c) { return ++c.updates; };
      Answer<std::uint64_t> last;
      {
        Answer<std::uint64_t> early;
        require(node.object.try_update(add, &early) == SendStatus::kAccepted, "the first");
      }
      for (int i = 0; i < 2; ++i) {
        require(node.object.try_update(add) == SendStatus::kAccepted, "without an answer");
      }
      require(node.object.try_update(add, &last) == SendStatus::kAccepted, "the fourth");
      require(node.object.try_update(add) == SendStatus::kFull, "the fifth");
      node.until([&] { return last.ready(); }, "answered");
      require_equal(last.value(), 4u, "updates");
      require(node.object.try_update(add) == SendStatus::kAccepted, "and so on");
    }
    node.until([&] { return node.object.query([](const Chain& c) { return c.updates; }) == 5; },
               "all updates");
    node.meet(0, 2);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("who_joins_gets_the_object_and_goes_on_with_it") {
  ForkJob job(3, [](Member& member) {
    ObjectNode<Words> node(member, {.members = {{0}, {1}}});
    const auto size = [&] {
      return node.object.query([](const Words& w) { return w.all.size(); });
    };
    const auto add = [](Words& words) { words.all.push_back(std::to_string(words.all.size())); };
    if (member.rank == 0) {
      for (int i = 0; i < 50; ++i) node.update(add);
    }
    if (member.rank != 2) node.until([&] { return size() >= 50; }, "the first ones");
    node.meet(0, 3);
    if (member.rank == 2) node.object.group().join();
    node.until([&] { return node.object.group().view().members.size() == 3; }, "it has joined");
    node.update(add);
    node.until([&] { return size() == 53; }, "all of them");
    const Words words = node.object.query([](const Words& w) { return w; });
    for (std::size_t i = 0; i < 53; ++i) {
      require(words.all[i] == std::to_string(i), "the words are those of the others");
    }
    node.meet(1, 3);
    // Who has left gets no answers.
    if (member.rank == 2) {
      node.object.group().leave();
      node.until([&] { return node.object.group().state() == groups::GroupState::kOutside; },
                 "it has left");
      require(node.object.try_update(add) == SendStatus::kNotMember, "it is no member");
    }
    node.until([&] { return node.object.group().view().members.size() != 3; }, "it has left");
    node.meet(2, 3);
  });
  CHECK(job.wait() == "");
}

TEST_CASE("the_survivors_have_the_same_object_and_an_answer") {
  ForkJob job(3, [](Member& member) {
    ObjectNode<Chain> node(member);
    for (std::uint64_t i = 0; i < 200; ++i) {
      if (member.rank == 1 && i == 100) member.die();
      Answer<std::uint64_t> answer;
      node.until(
          [&] {
            return node.object.try_update(
                       [i, rank = member.rank](Chain& c) {
                         c.value = c.value * 31 + i * 3 + rank;
                         return c.updates++;
                       },
                       &answer) == SendStatus::kAccepted;
          },
          "accepted");
      node.until([&] { return answer.ready(); }, "answered");
    }
    node.until([&] { return node.object.group().view().members.size() == 2; }, "the next view");
    node.meet(0, 2);
    Answer<std::uint64_t> value;
    node.until(
        [&] {
          return node.object.try_read([](const Chain& c) { return c.value; }, &value) ==
                 SendStatus::kAccepted;
        },
        "accepted");
    node.until([&] { return value.ready(); }, "read");
    member.memory.words[10 + member.rank] = value.value();
    node.meet(1, 2);
    require_equal(member.memory.words[10].load(), member.memory.words[12].load(), "states");
  });
  CHECK(job.wait() == "1: signal 9\n");
}
