// SPDX-License-Identifier: MIT
// Huge pages where the system has them, the next kind where it has not, and never a SIGBUS.
#include "support/huge_pages.hpp"

#include <cstdint>
#include <string>

#include "dtutils/limits.hpp"
#include "dtutils/rdma_allocator.hpp"
#include "dtutils/shared_segment.hpp"
#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/fake_device.hpp"
#include "support/matchers.hpp"

namespace {

using dtutils::kChunk;
using dtutils::kSuperpage;
using dtutils::PageKind;
using dtutils::RDMAAllocator;
using dtutils::SharedSegment;
using support::contains;
using support::error_text;
using support::HugePagePool;
using support::mapping_value;
using support::SystemSetting;

void touch(const SharedSegment& segment) {
  for (std::size_t at = 0; at < segment.size(); at += dtutils::kPage) {
    segment.data()[at] = std::byte{1};
  }
}

}  // namespace

TEST_CASE("segment_on_2_mb_pages_takes_them_from_the_pool_at_once_and_gives_them_back") {
  HugePagePool pool(kChunk);
  if (const std::string why = pool.add(4); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  const std::size_t before = pool.free();
  {
    const SharedSegment segment(kChunk + 1, PageKind::kHuge2MB, 0);
    CHECK(segment.size() == 2 * kChunk);
    CHECK(pool.free() == before - 2);
    touch(segment);
    CHECK(mapping_value(segment.data(), "KernelPageSize") == 2048);
    CHECK(SharedSegment::find(segment.data() + kChunk, kChunk).has_value());
  }
  CHECK(pool.free() == before);
}

TEST_CASE("too_few_2_mb_pages_are_an_error_that_says_how_to_get_more") {
  HugePagePool pool(kChunk);
  if (const std::string why = pool.add(2); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  const std::size_t before = pool.free();
  for (const int node : {-1, 0}) {
    const std::string text =
        error_text([&] { SharedSegment((pool.total() + 1) * kChunk, PageKind::kHuge2MB, node); });
    CHECK_THAT(text, contains("too few free pages") && contains("hugepages-2048kB/nr_hugepages"));
    CHECK(pool.free() == before);
  }
}

TEST_CASE("segment_on_a_1_gb_page_is_aligned_to_it") {
  HugePagePool pool(kSuperpage);
  if (const std::string why = pool.add(1); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  const SharedSegment segment(kSuperpage, PageKind::kHuge1GB, 0);
  CHECK(segment.size() == kSuperpage);
  CHECK(reinterpret_cast<std::uintptr_t>(segment.data()) % kSuperpage == 0);
  touch(segment);
  CHECK(mapping_value(segment.data(), "KernelPageSize") == 1024 * 1024);
}

TEST_CASE("transparent_huge_pages_are_used_where_the_kernel_allows_them") {
  SystemSetting policy("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  if (const std::string why = policy.set("advise"); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  const SharedSegment segment(4 * kChunk, PageKind::kTransparentHuge, 0);
  touch(segment);
  CHECK(mapping_value(segment.data(), "ShmemPmdMapped") == 4 * 2048);
}

TEST_CASE("transparent_huge_pages_are_refused_where_the_kernel_forbids_them") {
  SystemSetting policy("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  if (const std::string why = policy.set("never"); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  CHECK_THAT(error_text([] { SharedSegment(kChunk, PageKind::kTransparentHuge, -1); }),
             contains("echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled"));
}

TEST_CASE("allocator_prefers_2_mb_pages_and_falls_back_when_they_run_out") {
  HugePagePool pool(kChunk);
  if (const std::string why = pool.add(2); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  const std::size_t superpage = pool.free() * kChunk;
  RDMAAllocator allocator(
      pd, {}, {.superpage = superpage, .page_kinds = {PageKind::kHuge2MB, PageKind::kSmall}});
  CHECK(allocator.page_kind() == PageKind::kHuge2MB);
  CHECK_THAT(allocator.report(), contains("on 2 MB huge pages"));
  const dtutils::RDMAMemory first = allocator.allocate(superpage);
  CHECK(mapping_value(first.data(), "KernelPageSize") == 2048);

  const dtutils::RDMAMemory second = allocator.allocate();
  CHECK(allocator.page_kind() == PageKind::kSmall);
  CHECK_THAT(allocator.report(),
             contains("on 4 KB pages; no 2 MB huge pages: ") && contains("too few free pages"));
  CHECK(mapping_value(second.data(), "KernelPageSize") == 4);
}

TEST_CASE("allocator_takes_a_1_gb_page_for_a_superpage") {
  HugePagePool pool(kSuperpage);
  if (const std::string why = pool.add(1); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  RDMAAllocator allocator(pd, {});
  CHECK(allocator.page_kind() == PageKind::kHuge1GB);
  CHECK(device.regions().size() == 1);
  CHECK(device.regions()[0].size == kSuperpage);
}

TEST_CASE("allocator_without_any_allowed_page_is_an_error_with_all_reasons") {
  HugePagePool pool(kChunk);
  if (const std::string why = pool.add(0); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  support::FakeDevice device;
  dtutils::ProtectionDomain pd(device);
  const std::string text = error_text([&] {
    RDMAAllocator(pd, {},
                  {.superpage = (pool.total() + 1) * kChunk,
                   .page_kinds = {PageKind::kHuge1GB, PageKind::kHuge2MB}});
  });
  CHECK_THAT(text, contains("no 1 GB huge pages") && contains("no 2 MB huge pages") &&
                       contains("nr_hugepages"));
}
