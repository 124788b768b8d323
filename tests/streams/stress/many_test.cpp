// SPDX-License-Identifier: MIT
// Very many streams: one after the other, at the same time, and more than there are descriptors.
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../support/pair.hpp"
#include "dtutils/error.hpp"
#include "support/catch.hpp"

using namespace streams;
using namespace support;
using std::chrono::milliseconds;

namespace {

std::size_t descriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// Bytes of memory that this process has, and how many of them are shared ones.
struct Memory {
  std::size_t all;
  std::size_t shared;
};
Memory memory() {
  std::ifstream pages("/proc/self/statm");
  std::size_t address_space = 0;
  Memory memory{};
  pages >> address_space >> memory.all >> memory.shared;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {memory.all * page, memory.shared * page};
}

std::chrono::microseconds processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Lets the process have so many descriptors until its end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{std::min<rlim_t>(count, before_.rlim_max), before_.rlim_max};
    granted_ = setrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == count;
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  bool granted() const noexcept { return granted_; }

 private:
  rlimit before_{};
  bool granted_ = false;
};

/// Fills the ring of `to` twice over.
void fill_rings(Stream& from, Stream& to) {
  std::vector<std::byte> into(kRing / 2);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(from.send(bytes_from(0, kRing / 2), kPatience).status == Status::kOk);
    for (std::size_t received = 0; received < into.size();) {
      received += to.receive(std::span(into).subspan(received), kPatience).bytes;
    }
  }
  CHECK(are_from(0, into));
}

}  // namespace

TEST_CASE("ten_thousand_connects_and_closes_leave_nothing_behind") {
  Domain domain;
  // What the device keeps for good, it has after the first ones.
  for (int i = 0; i < 100; ++i) const StreamPair pair(domain.pd);
  const std::size_t descriptors_before = descriptors();
  const Memory before = memory();
  for (int i = 0; i < rounds(10'000); ++i) {
    const StreamPair pair(domain.pd);
    REQUIRE(pair.here->send(bytes_from(0, 10), kPatience).bytes == 10);
  }
  CHECK(descriptors() == descriptors_before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The device walks through its tables, which are shared memory, once.
  const Memory after = memory();
  CHECK(after.all - after.shared < before.all - before.shared + (4 << 20));
#else
  static_cast<void>(before);
#endif
}

TEST_CASE("a_thousand_idle_streams_take_little_memory_and_no_processor_time") {
  const std::size_t count = static_cast<std::size_t>(rounds(1000));
  const DescriptorLimit limit(descriptors() + 8 * count);
  if (!limit.granted()) {
    WARN("SKIPPED: the limit of descriptors (ulimit -Hn) is too low");
    return;
  }
  Domain domain;
  { const StreamPair first(domain.pd); }
  const std::size_t before = memory().all;
  std::vector<std::unique_ptr<StreamPair>> pairs;
  std::vector<pollfd> entries;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back(std::make_unique<StreamPair>(domain.pd));
    fill_rings(*pairs.back()->here, *pairs.back()->there);
    fill_rings(*pairs.back()->there, *pairs.back()->here);
    for (Stream* const each : {pairs.back()->here.get(), pairs.back()->there.get()}) {
      each->arm();
      entries.push_back({each->descriptor(), POLLIN, 0});
    }
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Both ends.
  CHECK((memory().all - before) / count <= 64 << 10);
#else
  static_cast<void>(before);
#endif
  // An event that was on its way when a stream was armed wakes in vain, once.
  while (poll(entries.data(), entries.size(), 100) != 0) {
    for (const auto& pair : pairs) {
      pair->here->arm();
      pair->there->arm();
    }
  }
  const auto begin = processor_time();
  CHECK(poll(entries.data(), entries.size(), 300) == 0);
  CHECK(processor_time() - begin < milliseconds(30));
  fill_rings(*pairs.front()->here, *pairs.front()->there);
}

TEST_CASE("a_lack_of_descriptors_is_told_and_harms_no_other_stream") {
#if defined(__SANITIZE_ADDRESS__)
  WARN("SKIPPED: the undefined behaviour sanitizer looks at objects by means of a descriptor");
#else
  Domain domain;
  { const StreamPair first(domain.pd); }
  const std::size_t before = descriptors();
  {
    const std::string name = fresh_name();
    Listener listener(domain.pd, name);
    const DescriptorLimit limit(before + 60);
    REQUIRE(limit.granted());
    struct Pair {
      std::unique_ptr<Stream> here;
      std::unique_ptr<Stream> there;
    };
    // Either side may lack them; the other one only hears that it left, and knows no reason.
    std::vector<std::string> lacks;
    const auto meet = [&] {
      Pair pair;
      dtutils::Error here("", "", "");
      dtutils::Error there("", "", "");
      Threads threads;
      threads.start([&] {
        try {
          pair.there = connect(domain.pd, name, milliseconds(500));
        } catch (const dtutils::Error& error) {
          there = error;
        }
      });
      try {
        pair.here = listener.accept(milliseconds(500));
      } catch (const dtutils::Error& error) {
        here = error;
      }
      threads.join();
      for (const dtutils::Error& error : {here, there}) {
        if (error.code() == EMFILE) lacks.emplace_back(error.what());
      }
      return pair;
    };
    std::vector<Pair> pairs;
    for (Pair pair = meet(); pair.here != nullptr && pair.there != nullptr; pair = meet()) {
      pairs.push_back(std::move(pair));
      REQUIRE(pairs.size() < 60);
    }
    CHECK_FALSE(lacks.empty());
    for (const std::string& lack : lacks) CHECK(lack.find("ulimit -n") != std::string::npos);
    REQUIRE(pairs.size() > 1);
    for (const Pair& pair : pairs) fill_rings(*pair.here, *pair.there);
    // One less, and there is room for another one.
    pairs.pop_back();
    pairs.push_back(meet());
    REQUIRE(pairs.back().here != nullptr);
    REQUIRE(pairs.back().there != nullptr);
    for (const Pair& pair : pairs) fill_rings(*pair.there, *pair.here);
  }
  CHECK(descriptors() == before);
#endif
}
