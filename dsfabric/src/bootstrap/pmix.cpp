// SPDX-License-Identifier: MIT
// The bootstrap of processes started by mpirun, prun or srun: PMIx, where it is built in.
#include "bootstrap/bootstrap.hpp"

#if !defined(CARIAMA_WITH_PMIX)

namespace dsfabric {

std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions&) { return nullptr; }

}  // namespace dsfabric

#else

#include <fcntl.h>
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "bootstrap/environment.hpp"
#include "bootstrap/pmix_library.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

constexpr const char* kLauncher = "PMIx launcher";

pmix_proc_t process(const pmix_proc_t& self, pmix_rank_t rank) {
  pmix_proc_t name{};
  std::memcpy(name.nspace, self.nspace, sizeof name.nspace);
  name.rank = rank;
  return name;
}

/// Write end of the pipe that the event handler tells deaths to; PMIx offers it no context.
std::atomic<int> news{-1};

void on_event(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], std::size_t,
              pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* context) {
  if (source != nullptr) {
    const std::uint32_t rank = source->rank;
    [[maybe_unused]] const ssize_t written = write(news.load(), &rank, sizeof rank);
  }
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, context);
}

class Pmix final : public Bootstrap {
 public:
  explicit Pmix(const BootstrapOptions& options) {
    if (const auto status = pmix_.init(&self_, nullptr, 0); status != PMIX_SUCCESS) {
      refuse("this process was started by it, but cannot reach it", status);
    }
    const pmix_proc_t all = process(self_, PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    const auto status = pmix_.get(&all, PMIX_JOB_SIZE, nullptr, 0, &value);
    if (status != PMIX_SUCCESS) refuse("it does not tell the size of the job", status);
    size_ = value->data.uint32;
    release(value);
    if (pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw dtutils::Error(kLauncher, "no pipe for its news", "raise `ulimit -n`", errno);
    }
    watch_deaths();
    compare_builds(options);
  }

  ~Pmix() override {
    pmix_.finalize(nullptr, 0);
    news.store(-1);
    close(pipe_[0]);
    close(pipe_[1]);
  }

  std::uint32_t rank() const noexcept override { return self_.rank; }
  std::uint32_t size() const noexcept override { return size_; }
  std::string name() const override { return "PMIx"; }

  std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                std::chrono::milliseconds limit) override {
    const std::string key = fmt::format("cariama.{}", gathers_++);
    put(key, mine);
    fence(limit);
    std::vector<Bytes> all;
    for (std::uint32_t rank = 0; rank < size_; ++rank) all.push_back(get(key, rank));
    return all;
  }

  int failure_fd() const noexcept override { return pipe_[0]; }
  std::optional<std::uint32_t> next_failed() noexcept override {
    std::uint32_t rank;
    if (::read(pipe_[0], &rank, sizeof rank) != sizeof rank) return std::nullopt;
    // A notice without a rank concerns the launcher itself.
    return std::min(rank, size_);
  }

 private:
  [[noreturn]] void refuse(const std::string& happened, pmix_status_t status) {
    throw dtutils::Error(kLauncher, fmt::format("{}: {}", happened, pmix_.error_string(status)),
                         "check what the launcher printed");
  }

  void release(pmix_value_t* value) {
    pmix_.value_destruct(value);
    std::free(value);
  }

  void watch_deaths() {
    news.store(pipe_[1]);
    std::array<pmix_status_t, 3> codes{PMIX_ERR_PROC_ABORTED, PMIX_ERR_LOST_CONNECTION,
                                       PMIX_ERR_JOB_TERMINATED};
    // Not every launcher offers events; then queue pairs and the shm device tell of deaths.
    pmix_.register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, nullptr,
                                 nullptr);
  }

  void compare_builds(const BootstrapOptions& options) {
    const auto all = all_gather(std::as_bytes(std::span(options.build)), options.start_timeout);
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const std::string theirs(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
      if (theirs == options.build) continue;
      throw dtutils::Error(
          kLauncher,
          fmt::format("the builds differ: rank {} is \"{}\", this process, rank {}, is "
                      "\"{}\"",
                      rank, theirs, this->rank(), options.build),
          "start all processes of a job from one build");
    }
  }

  void put(const std::string& key, std::span<const std::byte> mine) {
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(mine.data()));
    value.data.bo.size = mine.size();
    auto status = pmix_.put(PMIX_GLOBAL, key.c_str(), &value);
    if (status == PMIX_SUCCESS) status = pmix_.commit();
    if (status != PMIX_SUCCESS) refuse("it does not take this process' data", status);
  }

  void fence(std::chrono::milliseconds limit) {
    const pmix_proc_t all = process(self_, PMIX_RANK_WILDCARD);
    std::array<pmix_info_t, 2> info;
    const bool collect = true;
    const int seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(limit).count());
    PMIX_INFO_CONSTRUCT(&info[0]);
    PMIX_INFO_CONSTRUCT(&info[1]);
    pmix_.info_load(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    pmix_.info_load(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    const auto status = pmix_.fence(&all, 1, info.data(), info.size());
    if (status != PMIX_SUCCESS) {
      refuse(fmt::format("not all {} processes came within {} s (PMIx does not tell which)", size_,
                         seconds),
             status);
    }
  }

  Bytes get(const std::string& key, std::uint32_t rank) {
    const pmix_proc_t from = process(self_, rank);
    pmix_value_t* value = nullptr;
    const auto status = pmix_.get(&from, key.c_str(), nullptr, 0, &value);
    if (status != PMIX_SUCCESS) refuse(fmt::format("no data of rank {}", rank), status);
    const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    Bytes bytes(begin, begin + (value->type == PMIX_BYTE_OBJECT ? value->data.bo.size : 0));
    release(value);
    return bytes;
  }

  const PmixLibrary pmix_ = load_pmix();
  pmix_proc_t self_{};
  std::uint32_t size_ = 1;
  std::uint32_t gathers_ = 0;
  std::array<int, 2> pipe_{-1, -1};
};

}  // namespace

std::unique_ptr<Bootstrap> make_pmix(const BootstrapOptions& options) {
  // Without them PMIx_Init would make a job of one by itself.
  for (const char* const variable : kPmixVariables) {
    if (std::getenv(variable) == nullptr) return nullptr;
  }
  return std::make_unique<Pmix>(options);
}

}  // namespace dsfabric

#endif
