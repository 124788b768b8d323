// SPDX-License-Identifier: MIT
// The log: what is persisted is there after a restart, and files go when they are not needed.
#include "groups/log.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "groups/support/log_folder.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"

using namespace groups;
using support::append_until;
using support::bytes_of;
using support::log_options;
using support::require_records;
using support::TestFolder;
using support::wait_persisted;

TEST_CASE("records_are_there_after_the_log_is_opened_again") {
  const TestFolder folder;
  {
    Log log(log_options(folder));
    CHECK(log.extent() == LogExtent{0, 0, 0});
    append_until(log, 100, 3);
    append_until(log, 150, 4);
  }
  {
    Log log(log_options(folder));
    CHECK(log.extent() == LogExtent{0, 150, 4});
    CHECK(log.persisted() == 150);
    CHECK(log.cut_bytes() == 0);
    require_records(log, 0, 150);
    append_until(log, 200, 5);
  }
  const Log log(log_options(folder));
  require_records(log, 0, 200);
  std::vector<std::uint64_t> late;
  log.replay(197, [&](const LogRecord& record) { late.push_back(record.view); });
  CHECK(late == std::vector<std::uint64_t>{5, 5, 5});
}

TEST_CASE("persisted_is_told_and_only_grows") {
  const TestFolder folder;
  Log log(log_options(folder));
  std::vector<std::uint64_t> told;
  log.on_persisted([&](std::uint64_t sequence) { told.push_back(sequence); });
  CHECK_FALSE(log.poll());
  append_until(log, 500);
  CHECK(support::eventually([&] {
    log.poll();
    return !told.empty() && told.back() == 500;
  }));
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK_FALSE(log.poll());
}

TEST_CASE("empty_records_and_records_around_the_end_of_the_buffer_are_kept") {
  const TestFolder folder;
  LogOptions options = log_options(folder);
  options.buffer = 4096;
  {
    Log log(options);
    REQUIRE(log.try_append(1, {}) == AppendStatus::kAccepted);
    // A record takes at most half of the buffer, header included.
    const std::string large(2048 - 32, 'x'), larger(2048 - 31, 'x');
    CHECK(log.try_append(1, bytes_of(larger)) == AppendStatus::kTooLarge);
    REQUIRE(log.try_append(1, bytes_of(large)) == AppendStatus::kAccepted);
    append_until(log, 1000);
  }
  const Log log(options);
  std::uint64_t count = 0;
  log.replay(0, [&](const LogRecord& record) {
    if (record.sequence == 0) CHECK(record.bytes.empty());
    if (record.sequence == 1) CHECK(record.bytes.size() == 2048 - 32);
    if (record.sequence > 1) {
      support::require(support::text_of(record.bytes) == support::record_text(record.sequence),
                       "its bytes");
    }
    ++count;
  });
  CHECK(count == 1000);
}

TEST_CASE("files_below_a_checkpoint_are_removed") {
  const TestFolder folder;
  LogOptions options = log_options(folder);
  options.segment = 2000;
  {
    Log log(options);
    for (std::uint64_t end = 20; end <= 400; end += 20) {
      append_until(log, end);
      wait_persisted(log, end);
    }
    const std::size_t files = folder.segments().size();
    CHECK(files > 5);
    log.truncate_before(200);
    CHECK(support::eventually([&] { return log.extent().first > 0; }));
    CHECK(log.extent().first <= 200);
    CHECK(folder.segments().size() < files);
  }
  const Log log(options);
  CHECK(log.extent().first <= 200);
  require_records(log, log.extent().first, 400);
}

TEST_CASE("cut_forgets_a_tail_over_several_files") {
  const TestFolder folder;
  LogOptions options = log_options(folder);
  options.segment = 2000;
  {
    Log log(options);
    for (std::uint64_t end = 20; end <= 200; end += 20) {
      append_until(log, end, end / 100 + 1);
      wait_persisted(log, end);
    }
    CHECK(support::error_text([&] { log.cut(5); }).find("appended already") != std::string::npos);
  }
  for (const std::uint64_t end : {187u, 60u, 20u, 7u, 0u}) {
    {
      Log log(options);
      log.cut(end);
      CHECK(log.extent() == LogExtent{0, end, end == 0 ? 0 : (end + 19) / 20 * 20 / 100 + 1});
      require_records(log, 0, end);
    }
    Log log(options);
    require_records(log, 0, end);
    log.cut(300);  // nothing is there to be cut
    require_records(log, 0, end);
  }
  Log log(options);
  log.restart_at(1000);
  append_until(log, 1010);
  wait_persisted(log, 1010);
  CHECK(log.extent() == LogExtent{1000, 1010, 1});
}

TEST_CASE("a_full_disk_is_an_error_and_what_was_persisted_is_safe") {
  const TestFolder folder;
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20'000, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::uint64_t persisted = 0;
  {
    Log log(log_options(folder));
    AppendStatus status = AppendStatus::kAccepted;
    CHECK(support::eventually([&] {
      status = log.try_append(1, bytes_of(support::record_text(log.extent().end)));
      return status == AppendStatus::kFailed;
    }));
    CHECK(log.failed());
    CHECK(log.why_failed().find("make room on the disk") != std::string::npos);
    CHECK(log.why_failed().find(folder.path()) != std::string::npos);
    persisted = log.persisted();
    CHECK(persisted < log.extent().end);
    CHECK(log.try_append(1, {}) == AppendStatus::kFailed);
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  Log log(log_options(folder));
  CHECK(log.extent().end >= persisted);
  require_records(log, 0, log.extent().end);
  append_until(log, log.extent().end + 10);
}

TEST_CASE("a_log_is_for_one_process_and_one_group") {
  const TestFolder folder;
  const LogOptions options = log_options(folder);
  CHECK(Log::group_in(folder.path()) == std::nullopt);
  CHECK(Log::group_in(folder.path() + "/none") == std::nullopt);
  {
    const Log log(options);
    const std::string text = support::error_text([&] { const Log second(options); });
    CHECK(text.find("another process uses the log") != std::string::npos);
  }
  {
    // One that ends meanwhile, as processes do that were killed, is waited for.
    auto first = std::make_unique<const Log>(options);
    std::thread end([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      first.reset();
    });
    const Log second(options);
    end.join();
    CHECK(first == nullptr);
  }
  CHECK(Log::group_in(folder.path()) == support::kTestGroup);
  LogOptions other = options;
  other.group = 7;
  const std::string text = support::error_text([&] { const Log log(other); });
  CHECK(text.find("it is the log of group 123456789abcdef0, not of 0000000000000007") !=
        std::string::npos);
  CHECK(text.find(folder.segments()[0]) != std::string::npos);
}

TEST_CASE("options_that_cannot_be_are_refused") {
  const TestFolder folder;
  LogOptions options = log_options(folder);
  options.group = 0;
  CHECK(support::error_text([&] { const Log log(options); }).find("group is 0") !=
        std::string::npos);
  options = log_options(folder);
  options.buffer = 5000;
  CHECK(support::error_text([&] { const Log log(options); }).find("no power of two") !=
        std::string::npos);
  options = log_options(folder);
  options.folder = "";
  CHECK(support::error_text([&] { const Log log(options); }).find("folder is empty") !=
        std::string::npos);
  options.folder = "/proc/no-such-folder";
  CHECK(support::error_text([&] { const Log log(options); }).find("cannot be made") !=
        std::string::npos);
}
