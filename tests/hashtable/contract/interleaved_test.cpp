// SPDX-License-Identifier: MIT
// Changes of one worker that interleave: in its fibers, and after a handler has ended a wait.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsfabric/support/fabric_job.hpp"
#include "hashtable/hashtable.hpp"
#include "riutils/riutils.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"

using namespace hashtable;
using support::require;

namespace {

using Texts = HashTable<std::string, std::string>;

/// Their lengths differ, so that one record does not look like another one.
std::string key_of(int fiber, int i) {
  return std::to_string(fiber) + "." + std::to_string(i) + std::string(fiber * 3, 'k');
}
std::string value_of(int fiber) { return std::string(fiber, 'v'); }

}  // namespace

TEST_CASE("fibers_of_one_worker_change_entries_of_variable_size") {
  constexpr int kFibers = 16;
  constexpr int kKeys = 8;
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    support::in_every_mode({}, [mode](dsfabric::Thread& self) {
      const riutils::FiberPool pool(self);
      Texts table(self, {.mode = mode, .bytes = 1 << 20, .max_entry = 1 << 10});
      self.barrier();
      if (self.id().process.value == 0) {
        riutils::RDMAMessengerGlobal calls(self);
        std::vector<dsfabric::RemoteFuture<void>> all;
        for (int fiber = 0; fiber < kFibers; ++fiber) {
          const auto work = [fiber, its = &table] {
            for (int i = 0; i < kKeys; ++i) {
              require(its->insert(key_of(fiber, i), "first") == Status::kDone, "an insert");
              require(its->update(key_of(fiber, i), value_of(fiber)) == Status::kDone, "update");
            }
          };
          all.push_back(calls.call_return(self.id(), riutils::in_fiber(work)));
        }
        for (auto& each : all) each.get();
        for (int fiber = 0; fiber < kFibers; ++fiber) {
          for (int i = 0; i < kKeys; ++i) {
            require(table.find(key_of(fiber, i)) == value_of(fiber), "its own value");
          }
        }
      }
      self.barrier();
    });
  }
}

TEST_CASE("fibers_of_one_worker_change_the_same_entry_of_variable_size") {
  constexpr std::size_t kFibers = 16;
  constexpr std::size_t kEach = 8;
  for (const Mode mode : {Mode::kOneSided, Mode::kByCall}) {
    support::in_every_mode({}, [mode](dsfabric::Thread& self) {
      const riutils::FiberPool pool(self);
      Texts table(self, {.mode = mode, .bytes = 1 << 20, .max_entry = 1 << 10});
      self.barrier();
      const std::string names[] = {"one", "another"};  // of both homes, or not
      if (self.id().process.value == 0) {
        riutils::RDMAMessengerGlobal calls(self);
        for (const auto& name : names) require(table.insert(name, "") == Status::kDone, "insert");
        std::vector<dsfabric::RemoteFuture<void>> all;
        for (std::size_t fiber = 0; fiber < kFibers; ++fiber) {
          const auto work = [its = &table, all_names = &names] {
            for (std::size_t i = 0; i < kEach; ++i) {
              for (const auto& name : *all_names) {
                const auto longer = [](const std::string& text) { return text + "x"; };
                require(its->change(name, longer) == Status::kDone, "a change");
              }
            }
          };
          all.push_back(calls.call_return(self.id(), riutils::in_fiber(work)));
        }
        for (auto& each : all) each.get();
        for (const auto& name : names) {
          require(table.find(name) == std::string(kFibers * kEach, 'x'), "all changes");
        }
      }
      self.barrier();
    });
  }
}

TEST_CASE("a_change_after_one_whose_wait_a_handler_ended_has_a_record_of_its_own") {
  support::in_every_mode({}, [](dsfabric::Thread& self) {
    Texts table(self, {.bytes = 1 << 20, .max_entry = 1 << 10});
    self.barrier();
    if (self.id().process.value == 0) {
      riutils::RDMAMessengerGlobal calls(self);
      int ended = 0;
      /// Whether a handler has ended it.
      const auto ends = [](auto&& wait) {
        try {
          wait();
        } catch (const std::runtime_error& error) {
          require(error.what() == std::string("on purpose"), error.what());
          return true;
        }
        return false;
      };
      for (int i = 0; i < 100; ++i) {
        require(calls.call(self.id(), [] { throw std::runtime_error("on purpose"); }), "posted");
        bool thrown = ends([&] { (void)table.insert(key_of(1, i), value_of(1)); });
        ended += thrown;
        // It waits for the one before, and may be ended itself.
        const auto next = [&] { (void)table.insert(key_of(2, i), value_of(2)); };
        if (ends(next)) {
          thrown = true;
          next();
        }
        while (!thrown) thrown = ends([&] { self.progress(); });
        require(table.find(key_of(2, i)) == value_of(2), "its own value");
      }
      require(ended != 0, "a handler ended some");
      int seen = 0;
      table.for_each([&](const std::string& key, const std::string& value) {
        const bool first = key[0] == '1';
        require(value == value_of(first ? 1 : 2), "the value of its key");
        seen += !first;
      });
      require(seen == 100, "nothing is lost");
    }
    self.barrier();
  });
}
