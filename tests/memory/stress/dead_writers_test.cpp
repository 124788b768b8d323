// SPDX-License-Identifier: MIT
// Processes that die at each step of a one-sided write, and of a read under the shared lock.
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "layout.hpp"
#include "memory/support/memory_job.hpp"

using namespace memory;
using namespace support;
using detail::kBusy;
using detail::kHeader;
using detail::kVersionAt;

namespace {

using Line = Whole<6>;  // one line, so the steps are the same in both layouts

/// The steps of ClientState::write_one_sided and fetch_locked, made by hand up to one of them.
class Dying {
 public:
  Dying(MemoryNode& node, const Place& place)
      : node_(node), place_(place), lines_(!node.fabric.device().reads_in_order) {
    memory_ = node.fabric.general_allocator().allocate(256);
  }
  /// The header of a segment of a plain neighbour tells where headers are: its key and its zone.
  void know(const dtutils::RemoteMemoryLocator& plain, const Place& of_plain) {
    base_ = plain;
    base_.address -= kHeader + of_plain.offset();
    base_.length = std::uint64_t{1} << 30;
  }
  dtutils::RemoteMemoryLocator at(std::uint64_t from_header, std::uint64_t bytes) const {
    return base_.part(place_.offset() + from_header, bytes);
  }
  dtutils::Transmitter& to() { return node_.fabric.transmitter(place_.home()); }
  void word(std::uint64_t from_header, std::uint64_t value) {
    require(to().write({&value, 8, 0}, at(from_header, 8), dtutils::kInlined), "write");
    require(to().flush(), "flush");
  }
  std::uint64_t version() {
    require(to().blocking_read(memory_.local(0, 8), at(kVersionAt, 8)), "read");
    return *reinterpret_cast<const std::uint64_t*>(memory_.data());
  }
  std::uint64_t back() const {
    return lines_ ? kHeader + detail::kBackAt : detail::back_at(sizeof(Line));
  }
  void data(std::uint64_t value, std::size_t words) {
    for (std::size_t i = 0; i < words; ++i) word(kHeader + (lines_ ? 8 : 0) + i * 8, value);
  }

  /// Dies behind step `last` of a write of `value`.
  [[noreturn]] void write_until(int last, std::uint64_t value) {
    const std::uint64_t mine = detail::writer_word(node_.fabric.process());
    require(to().blocking_compare_and_swap(at(0, 8), 0, mine) == 0, "the lock is free");
    const std::uint64_t now = version();
    const std::uint64_t after = detail::next_version(now);
    const std::function<void()> steps[] = {
        [] {},
        [&] { word(back(), now | kBusy); },
        [&] { data(value, 3); },
        [&] { data(value, 6); },
        [&] { word(kVersionAt, after); },
        [&] {
          if (lines_) word(kHeader, after);
        },
        [&] { word(back(), after); },
    };
    for (int i = 0; i <= last; ++i) steps[i]();
    ::kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  [[noreturn]] void read_until_locked() {
    // The first reader bit of process 1 of 2.
    require(to().blocking_fetch_and_add(at(0, 8), std::uint64_t{1} << 23).has_value(), "lock");
    ::kill(getpid(), SIGKILL);
    for (;;) pause();
  }

 private:
  MemoryNode& node_;
  Place place_;
  bool lines_;
  dtutils::RDMAMemory memory_;
  dtutils::RemoteMemoryLocator base_{};
};

constexpr int kSteps = 7;

void die_at(int step, bool reader, const std::string& adversary) {
  CAPTURE(step, reader, adversary);
  setenv("CARIAMA_SHM_ADVERSARY", adversary.c_str(), 1);
  ForkJob job(2, [=](Member& member) {
    MemoryNode node(member);
    Client client(node.space);
    GlobalPtr<Line> p;
    GlobalPtr<std::uint64_t> plain;
    if (member.rank == 0) {
      p = client.allocate<Line>();
      plain = client.allocate<std::uint64_t>(1, here(), Kind::kPlain);
      require_done(client.write(p, Line::of(1)), "write");
    }
    p = shared_pointer(node, "p", member.rank == 0 ? &p : nullptr);
    plain = shared_pointer(node, "plain", member.rank == 0 ? &plain : nullptr);
    // The names may be at process 1, which answers before it dies.
    support::meet(member, node.fabric, 0);
    if (member.rank == 1) {
      Dying dying(node, p.place());
      dying.know(client.locate(plain), plain.place());
      reader ? dying.read_until_locked() : dying.write_until(step, 2);
    }
    require(eventually([&] {
              node.fabric.progress();
              return node.fabric.failed({1});
            }),
            "the death is noticed");
    Line seen;
    for (const ReadMode mode : kModes) {
      const Status status = client.read(p, seen, mode);
      if (status == Status::kDamaged) {
        require(!reader && step >= 1 && step <= 3, "damaged though nothing was half written");
        continue;
      }
      require_done(status, "read");
      const std::uint64_t value = seen.value();
      require_equal(value, !reader && step >= 4 ? 2u : 1u, "value");
    }
    require_done(client.write(p, Line::of(3), {.mode = WriteMode::kOneSided}), "write");
    require_done(client.write(p, Line::of(4)), "write by call");
    for (const ReadMode mode : kModes) {
      require_done(client.read(p, seen, mode), "read");
      require_equal(seen.value(), 4u, "value");
    }
    require_done(client.free(p), "free");
  });
  CHECK(job.wait() == "1: signal 9\n");
  unsetenv("CARIAMA_SHM_ADVERSARY");
}

}  // namespace

TEST_CASE("a_writer_that_dies_at_each_step_leaves_no_lock_and_no_torn_value") {
  for (const char* adversary : {"", "3"}) {
    for (int step = 0; step < kSteps; ++step) die_at(step, false, adversary);
  }
}

TEST_CASE("a_reader_that_dies_under_the_shared_lock_leaves_it_free") {
  for (const char* adversary : {"", "4"}) die_at(0, true, adversary);
}
