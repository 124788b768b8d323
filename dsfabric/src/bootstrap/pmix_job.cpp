// SPDX-License-Identifier: MIT
// PmixJob: calls of libpmix.
#if defined(CARIAMA_WITH_PMIX)

#include "bootstrap/pmix_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

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

}  // namespace

PmixJob::PmixJob() {
  if (const auto status = pmix_.init(&self_, nullptr, 0); status != PMIX_SUCCESS) {
    refuse("this process was started by it, but cannot reach it", status);
  }
  size_ = number(PMIX_JOB_SIZE, std::nullopt);
  local_size_ = number(PMIX_LOCAL_SIZE, 0);
  if (pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    const int code = errno;
    pmix_.finalize(nullptr, 0);
    throw dtutils::Error(kLauncher, "no pipe for its news", "raise `ulimit -n`", code);
  }
  watch_ends();
}

PmixJob::~PmixJob() {
  pmix_.finalize(nullptr, 0);
  news.store(-1);
  close(pipe_[0]);
  close(pipe_[1]);
}

std::vector<Bytes> PmixJob::all_gather(std::span<const std::byte> mine,
                                       std::chrono::milliseconds limit) {
  const std::string key = fmt::format("cariama.{}", gathers_++);
  put(key, mine);
  fence(limit);
  std::vector<Bytes> all;
  for (std::uint32_t rank = 0; rank < size_; ++rank) all.push_back(get(key, rank));
  return all;
}

std::optional<std::uint32_t> PmixJob::next_ended() noexcept {
  std::uint32_t rank;
  if (::read(pipe_[0], &rank, sizeof rank) != sizeof rank) return std::nullopt;
  // A notice without a rank concerns the launcher itself.
  return std::min(rank, size_);
}

void PmixJob::refuse(const std::string& happened, pmix_status_t status) const {
  throw dtutils::Error(kLauncher, fmt::format("{}: {}", happened, pmix_.error_string(status)),
                       "check what the launcher printed");
}

std::uint32_t PmixJob::number(const char* key, std::optional<std::uint32_t> otherwise) {
  const pmix_proc_t all = process(self_, PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  const auto status = pmix_.get(&all, key, nullptr, 0, &value);
  if (status != PMIX_SUCCESS) {
    if (otherwise) return *otherwise;
    refuse("it does not tell the size of the job", status);
  }
  const std::uint32_t number = value->data.uint32;
  release(value);
  return number;
}

void PmixJob::release(pmix_value_t* value) const {
  pmix_.value_destruct(value);
  std::free(value);
}

void PmixJob::watch_ends() {
  news.store(pipe_[1]);
  std::array<pmix_status_t, 3> codes{PMIX_ERR_PROC_ABORTED, PMIX_ERR_LOST_CONNECTION,
                                     PMIX_ERR_JOB_TERMINATED};
  // Not every launcher offers events.
  pmix_.register_event_handler(codes.data(), codes.size(), nullptr, 0, on_event, nullptr, nullptr);
}

void PmixJob::put(const std::string& key, std::span<const std::byte> mine) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(mine.data()));
  value.data.bo.size = mine.size();
  auto status = pmix_.put(PMIX_GLOBAL, key.c_str(), &value);
  if (status == PMIX_SUCCESS) status = pmix_.commit();
  if (status != PMIX_SUCCESS) refuse("it does not take this process' data", status);
}

void PmixJob::fence(std::chrono::milliseconds limit) {
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

Bytes PmixJob::get(const std::string& key, std::uint32_t rank) {
  const pmix_proc_t from = process(self_, rank);
  pmix_value_t* value = nullptr;
  const auto status = pmix_.get(&from, key.c_str(), nullptr, 0, &value);
  if (status != PMIX_SUCCESS) refuse(fmt::format("no data of rank {}", rank), status);
  const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
  Bytes bytes(begin, begin + (value->type == PMIX_BYTE_OBJECT ? value->data.bo.size : 0));
  release(value);
  return bytes;
}

}  // namespace dsfabric

#endif
