// SPDX-License-Identifier: MIT
// A program of a job, for groups_bench: the leader of an ordered group dies, and the others say how
// long that takes to be noticed, and until all deliver messages in the next view.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "dtutils/error.hpp"
#include "groups/groups.hpp"
#include "sst/sst.hpp"

namespace {

/// The same for all processes of a machine.
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::int64_t kNotYet = INT64_MAX;

/// What the members send: the leader when it dies, the others when they have noticed, and when the
/// first message of the next view came.
struct Word {
  enum Kind : std::int64_t { kDeath, kHello, kNoticed, kDelivered } kind;
  std::int64_t when;
};

class Probe {
 public:
  explicit Probe(dsfabric::Fabric& fabric)
      : fabric_(fabric),
        tables_(fabric),
        pace_(fabric),
        group_(tables_, {.max_message = sizeof(Word)},
               {.deliver = [this](const groups::Delivery& message) { take(message); }}) {}

  void run() {
    const bool dies = fabric_.process().value == 0;
    while (group_.view().id == 0) step();
    if (dies) send({Word::kDeath, now_ns() + 50'000'000});
    while (reports_ < fabric_.processes() - 1u) {
      if (dies && now_ns() >= death_) std::raise(SIGKILL);
      step();
      if (noticed_ == kNotYet && fabric_.failures() != 0) noticed_ = now_ns();
      if (group_.view().id == 2 && !greeted_) greeted_ = send({Word::kHello, 0});
      if (delivered_ != kNotYet && !reported_) {
        reported_ = send({Word::kNoticed, noticed_}) && send({Word::kDelivered, delivered_});
      }
    }
    // So that nobody is gone before all have delivered the same.
    while (group_.undelivered() != 0) step();
  }
  /// ns from the death to the first that noticed, and from there to the last that delivered.
  std::int64_t detection() const { return first_noticed_ - death_; }
  std::int64_t change() const { return last_delivered_ - first_noticed_; }

 private:
  void step() {
    pace_.after(group_.progress());
    if (now_ns() > by_) throw dtutils::Error("death_probe", group_.describe(), "run it again");
  }
  bool send(const Word& word) {
    while (group_.try_send(word) != groups::SendStatus::kAccepted) step();
    return true;
  }
  void take(const groups::Delivery& message) {
    Word word;
    std::memcpy(&word, message.bytes.data(), sizeof word);
    if (message.view == 2 && delivered_ == kNotYet) delivered_ = now_ns();
    if (word.kind == Word::kDeath) death_ = word.when;
    if (word.kind == Word::kNoticed) first_noticed_ = std::min(first_noticed_, word.when);
    if (word.kind != Word::kDelivered) return;
    last_delivered_ = std::max(last_delivered_, word.when);
    ++reports_;
  }

  dsfabric::Fabric& fabric_;
  sst::TableGroup tables_;
  sst::Pace pace_;
  /// The end of its patience.
  const std::int64_t by_ = now_ns() + 30'000'000'000;
  std::int64_t death_ = kNotYet;
  std::int64_t noticed_ = kNotYet;
  std::int64_t delivered_ = kNotYet;
  std::int64_t first_noticed_ = kNotYet;
  std::int64_t last_delivered_ = 0;
  bool greeted_ = false;
  bool reported_ = false;
  std::uint32_t reports_ = 0;
  groups::OrderedGroup group_;
};

}  // namespace

int main(int argc, char** argv) try {
  dsfabric::Fabric fabric = dsfabric::join(argc, argv);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what != "change" && what != "detection") {
    fmt::print(stderr, "death_probe: say change or detection\n");
    return 2;
  }
  Probe probe(fabric);
  probe.run();
  if (fabric.process().value == 1) {
    fmt::print("{}\n", what == "change" ? probe.change() : probe.detection());
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "death_probe: {}\n", error.what());
  return 1;
}
