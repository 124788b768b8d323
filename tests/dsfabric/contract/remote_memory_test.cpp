// SPDX-License-Identifier: MIT
// Memory obtained from another process, and values found by name.
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "dsfabric/support/fork_job.hpp"
#include "dtutils/clock.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/per_process.hpp"
#include "support/require.hpp"

using namespace dsfabric;
using support::ForkJob;
using support::Member;
using support::require;
using support::require_equal;

namespace {

Config one_thread() {
  Config config;
  config.threads = 1;
  return config;
}

}  // namespace

TEST_CASE("remote_memory_can_be_written_and_read_back") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join(one_thread());
    fabric.run([&](Thread& self) {
      const ThreadId next = self.neighbour(1);
      RemoteMemory remote = fabric.allocate_near(next, 1000);
      require(remote.process() == next.process, "it lives there");
      require_equal(remote.locator().length, 1000u, "bytes");
      auto local = self.allocator().allocate();
      std::uint64_t value = 42 + member.rank;
      std::memcpy(local.data(), &value, sizeof value);
      auto& out = self.transmitter(next.process);
      require(out.write(local.local(0, 8), remote.locator().part(992, 8)), "written");
      require(out.blocking_read(local.local(64, 8), remote.locator().part(992, 8)), "read");
      std::memcpy(&value, local.data() + 64, sizeof value);
      require_equal(value, 42u + member.rank, "value");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("remote_memory_goes_back_to_its_owner") {
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(one_thread());
    fabric.run([&](Thread& self) {
      const std::size_t before = fabric.general_allocator().in_use();
      self.barrier();
      {
        const RemoteMemory remote = fabric.allocate_near(self.neighbour(1), 5000);
        self.barrier();
        require(fabric.general_allocator().in_use() >= before + 5000, "the neighbour's piece");
        self.barrier();
      }
      require(support::eventually([&] {
                self.progress();
                return fabric.general_allocator().in_use() == before;
              }),
              "it came back");
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("remote_memory_goes_back_while_calls_that_throw_come_in") {
  constexpr int kThrowing = 5;
  ForkJob job(2, [](Member& member) {
    Fabric fabric = member.join(one_thread());
    fabric.run([&](Thread& self) {
      const ThreadId other = self.neighbour(1);
      std::vector<RemoteMemory> pieces;
      for (int i = 0; i < 100; ++i) pieces.push_back(fabric.allocate_near(other, 64));
      self.barrier();
      auto& left_the_barrier = member.memory.words[0];
      auto& sent = member.memory.words[1];
      if (member.rank == 1) {
        require(support::eventually([&] { return left_the_barrier == 1; }), "the other is ready");
        SendChannel calls(fabric);
        for (int i = 0; i < kThrowing; ++i) {
          require(calls.call(other, [] { throw std::runtime_error("a test throws"); }), "sent");
        }
        sent = 1;
        return;
      }
      // It makes no progress from here on, so none of the calls runs yet.
      left_the_barrier = 1;
      require(support::eventually([&] { return sent == 1; }), "the calls are on their way");
      // Nothing runs inside, whose exception a destructor could not hand on.
      pieces.clear();
      int thrown = 0;
      require(support::eventually([&] {
                try {
                  self.progress();
                } catch (const std::runtime_error&) {
                  ++thrown;
                }
                return thrown == kThrowing;
              }),
              "each came out of progress()");
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("remote_allocation_that_cannot_be_is_refused") {
  ForkJob job(2, [](Member& member) {
    Config config = one_thread();
    config.memory_limit = std::size_t{64} << 20;
    Fabric fabric = member.join(config);
    fabric.run([&](Thread& self) {
      const ProcessId other = self.neighbour(1).process;
      std::string text =
          support::error_text([&] { fabric.allocate_remote(other, std::size_t{1} << 40); });
      require(text.find("memory_limit") != std::string::npos, text);
      text = support::error_text([&] { fabric.allocate_remote(other, 0); });
      require(text.find("at least one byte") != std::string::npos, text);
      text =
          support::error_text([&] { fabric.general_allocator().allocate(std::size_t{1} << 40); });
      require(text.find("CARIAMA_MEMORY_LIMIT") != std::string::npos, text);
      text = support::error_text([&] { fabric.allocate_remote(other, 8, dtutils::NumaZone{77}); });
      require(text.find("zone 77") != std::string::npos, text);
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("nothing_is_allocated_for_a_process_that_has_failed_since_it_asked") {
  ForkJob job(2, [](Member& member) {
    // Nobody but the worker runs messages.
    Config config = one_thread();
    config.service_threads = 0;
    Fabric fabric = member.join(config);
    static support::PerProcess<std::atomic<bool>> told;
    fabric.on_failure([](ProcessId, const std::string&) { *told = true; });
    fabric.run([&](Thread& self) {
      const std::size_t before = fabric.general_allocator().in_use();
      const auto give_up = [](CallContext& call) {
        const auto taken_in = dtutils::Clock::now() + std::chrono::milliseconds(100);
        while (dtutils::Clock::now() < taken_in) call.fabric.progress();
        call.fabric.fail(call.source.process, "a test gives it up");
        require(support::eventually([] { return told->load(); }), "the failure was handled");
      };
      if (member.rank == 1) {
        SendChannel calls(fabric);
        require(calls.call(self.neighbour(1), give_up), "sent");
        const std::string text =
            support::error_text([&] { fabric.allocate_remote(ProcessId{0}, 5000); });
        require(text.find("a remote allocation") != std::string::npos, text);
        return;
      }
      require(support::eventually([&] {
                self.progress();
                return told->load();
              }),
              "it gave up");
      for (int i = 0; i < 100; ++i) self.progress();
      require_equal(fabric.general_allocator().in_use(), before, "bytes in use");
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("a_published_name_is_found_by_all") {
  ForkJob job(3, [](Member& member) {
    Fabric fabric = member.join(one_thread());
    fabric.run([&](Thread& self) {
      for (int i = 0; i < 20; ++i) {
        const std::string mine =
            "value " + std::to_string(i) + " of " + std::to_string(member.rank);
        const std::uint64_t value = member.rank * 100 + static_cast<std::uint64_t>(i);
        require(!fabric.lookup(mine), "nobody has published it");
        fabric.publish(mine, std::as_bytes(std::span(&value, 1)));
      }
      self.barrier();
      for (std::uint64_t i = 0; i < 20; ++i) {
        for (std::uint64_t rank = 0; rank < member.size; ++rank) {
          const auto found =
              fabric.lookup("value " + std::to_string(i) + " of " + std::to_string(rank));
          require(found && found->size() == 8, "found");
          std::uint64_t value;
          std::memcpy(&value, found->data(), sizeof value);
          require_equal(value, rank * 100 + i, "value");
        }
      }
      self.barrier();
    });
  });
  CHECK(job.wait() == "");
}

TEST_CASE("names_and_values_that_are_too_long_are_refused") {
  ForkJob job(1, [](Member& member) {
    Fabric fabric = member.join(one_thread());
    const std::vector<std::byte> large(Fabric::kMaxNamedValue + 1);
    const std::span<const std::byte> none;
    require(support::error_text([&] { fabric.publish("", none); }) != "(no error)", "empty");
    require(support::error_text([&] {
              fabric.publish(std::string(Fabric::kMaxName + 1, 'x'), none);
            }) != "(no error)",
            "long");
    require(support::error_text([&] { fabric.publish("x", large); }) != "(no error)", "large");
    fabric.publish(std::string(Fabric::kMaxName, 'x'), std::span(large).first(64));
    require(fabric.lookup(std::string(Fabric::kMaxName, 'x'))->size() == 64, "the longest");
  });
  CHECK(job.wait() == "");
}
