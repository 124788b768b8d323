// SPDX-License-Identifier: MIT
// Counts words on all workers of a job: each word has an owner, who is told by calls.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/command_line.hpp"
#include "dtutils/clock.hpp"
#include "riutils/riutils.hpp"
#include "simulation/cariama_main.hpp"

namespace {

struct Options {
  std::string file;
  std::uint64_t words = 2'000'000;
  std::string how = "combine";
  std::size_t local = 1u << 16;
};

/// Found by a string_view too, so that nothing is allocated for a word that was seen before.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const noexcept {
    return std::hash<std::string_view>()(word);
  }
};
class Counts {
 public:
  void add(std::string_view word, std::uint64_t count) {
    const auto found = counts_.find(word);
    found != counts_.end() ? found->second += count : counts_[std::string(word)] = count;
  }
  void clear() { counts_.clear(); }
  std::size_t size() const noexcept { return counts_.size(); }
  auto begin() const { return counts_.begin(); }
  auto end() const { return counts_.end(); }
  friend bool operator==(const Counts&, const Counts&) = default;

 private:
  std::unordered_map<std::string, std::uint64_t, WordHash, std::equal_to<>> counts_;
};

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <class Each>
void for_each_word(std::string_view text, Each&& each) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_letter(text[at])) ++at;
    if (at != begin) each(text.substr(begin, at - begin));
  }
}

/// Words as in a language: the n-th most frequent one comes 1/n as often as the first.
std::string made_up_text(std::uint64_t words) {
  std::minstd_rand random(1);
  std::string text;
  for (std::uint64_t i = 0; i < words; ++i) {
    const double uniform = static_cast<double>(random()) / std::minstd_rand::max();
    auto number = static_cast<std::uint64_t>(std::pow(20'000.0, uniform));
    for (; number != 0; number /= 26) text += static_cast<char>('a' + number % 26);
    text += ' ';
  }
  return text;
}

std::string text_of(const Options& options) {
  if (options.file.empty()) return made_up_text(options.words);
  std::stringstream all;
  all << std::ifstream(options.file).rdbuf();
  return all.str();
}

/// Worker number `rank` of `workers` has the text between two such places, which cut no word.
std::size_t edge(std::string_view text, std::size_t rank, std::size_t workers) {
  std::size_t at = text.size() * rank / workers;
  while (rank != 0 && at < text.size() && is_letter(text[at])) ++at;
  return at;
}

/// What one worker does: it counts its part of the text, and owns some of the words.
class Worker {
 public:
  Worker(dsfabric::Thread& self, const Options& options)
      : fabric_(self.fabric()), options_(options), everyones_(self, owned_), calls_(self) {}

  /// Each word is hashed and looked up once by the worker that reads it, and once more by its owner
  /// when it is told. So to tell the owner of each word ("each") is twice the work of a sequential
  /// loop, and two workers gain nothing. To count here first ("combine") makes a call for each
  /// *different* word, of which there are few.
  void count(std::string_view text) {
    if (options_.how == "each") {
      for_each_word(text, [&](std::string_view word) { tell_owner(word, 1); });
    } else {
      Counts mine;
      for_each_word(text, [&](std::string_view word) {
        mine.add(word, 1);
        if (mine.size() >= options_.local) tell_owners(mine);
      });
      tell_owners(mine);
    }
  }
  const Counts& owned() const noexcept { return owned_; }
  /// Adds what this worker owns to what `to` owns.
  void give_all(dsfabric::ThreadId to) {
    if (fabric_.current_thread()->id() == to) return;
    for (const auto& [word, count] : owned_) tell(to, word, count);
  }

 private:
  void tell_owners(Counts& counts) {
    for (const auto& [word, count] : counts) tell_owner(word, count);
    counts.clear();
  }
  void tell_owner(std::string_view word, std::uint64_t count) {
    const auto hash = static_cast<std::uint32_t>(WordHash()(word) >> 32);
    const auto rank =
        static_cast<std::uint32_t>(std::uint64_t{hash} * fabric_.total_threads() >> 32);
    tell(fabric_.thread_of_rank(rank), word, count);
  }
  void tell(dsfabric::ThreadId to, std::string_view word, std::uint64_t count) {
    const auto add = [there = everyones_.on(to), count](
                         dsfabric::CallContext& call, const std::byte* data, std::uint32_t bytes) {
      there.get(call.fabric)->add({reinterpret_cast<const char*>(data), bytes}, count);
    };
    // The aggregator waits for room, and serves meanwhile.
    if (calls_.call_buffer(to, add, std::as_bytes(std::span(word))) !=
        dsfabric::CallStatus::kAccepted) {
      throw std::runtime_error(fmt::format("thread {} is gone", to));
    }
  }

  dsfabric::Fabric& fabric_;
  const Options& options_;
  Counts owned_;
  dsfabric::DistributedObject<Counts> everyones_;
  riutils::RDMAAggregator calls_;
};

void run(dsfabric::Thread& self, const Options& options, std::string_view text) {
  using Clock = dtutils::Clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const std::uint32_t rank = self.fabric().rank_of(self.id());
  const std::uint32_t workers = self.fabric().total_threads();
  Worker worker(self, options);
  const std::size_t from = edge(text, rank, workers);
  const std::size_t to = edge(text, rank + 1, workers);
  self.barrier();
  const auto begin = Clock::now();
  worker.count(text.substr(from, to - from));
  riutils::wait_for_termination(self);  // all calls have run, everywhere
  const double took = seconds_since(begin);
  // The first worker compares the whole with what a plain loop counts.
  worker.give_all(self.fabric().thread_of_rank(0));
  riutils::wait_for_termination(self);
  if (rank != 0) return;
  const auto begin_alone = Clock::now();
  Counts alone;
  std::uint64_t words = 0;
  for_each_word(text, [&](std::string_view word) {
    alone.add(word, 1);
    ++words;
  });
  fmt::print("{} words, {} different: {:.3f} s on {} workers, {:.3f} s in a plain loop: {}\n",
             words, alone.size(), took, workers, seconds_since(begin_alone),
             alone == worker.owned() ? "equal" : "DIFFERENT");
}

}  // namespace

int cariama_main(int argc, char** argv) try {
  Options options;
  dsfabric::Config config;
  common::CommandLine line{
      "Counts words on all workers of a job; start several processes by scripts/run."};
  line.option("file", options.file, "Text; without it, one is made up")
      .option("--words", options.words, "Words of the text that is made up")
      .option("--how", options.how, "Calls for each word, or for each different word of a worker",
              {"combine", "each"})
      .option("--local", options.local, "Different words that a worker counts before it calls");
  if (const auto status = line.parse(argc, argv, config)) return *status;
  const std::string text = text_of(options);
  dsfabric::Fabric fabric = dsfabric::join(config);
  fabric.run([&](dsfabric::Thread& self) { run(self, options, text); });
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  fmt::print(stderr, "wordcount: {}\n", error.what());
  return EXIT_FAILURE;
}
