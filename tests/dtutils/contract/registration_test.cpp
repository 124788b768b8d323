// SPDX-License-Identifier: MIT
// Registrations that make no sense are refused in words, and leave no trace.
#include <sys/mman.h>

#include "support/catch.hpp"
#include "support/error_text.hpp"
#include "support/matchers.hpp"
#include "support/side.hpp"

using namespace dtutils;
using namespace support;

namespace {

/// The refusal must name what was to be registered and what to do.
void expect_registration_refused(ProtectionDomain& pd, void* address, std::size_t length,
                                 int access) {
  try {
    const MemoryRegion region(pd, address, length, access);
    FAIL_CHECK("the registration was accepted");
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(!error.object().empty());
    CHECK(!error.remedy().empty());
  }
}

}  // namespace

TEST_CASE("region_larger_than_what_is_mapped_is_refused") {
  Pair pair;
  std::byte* memory = pair.b.segment.data();
  expect_registration_refused(pair.b.pd, memory, std::size_t{1} << 40, kAccessAll);
  expect_registration_refused(pair.b.pd, memory, std::size_t{1} << 40, kAccessReadWrite);
  expect_registration_refused(pair.b.pd, memory, ~std::size_t{0}, kAccessReadWrite);
  expect_registration_refused(pair.b.pd, memory, 0, kAccessReadWrite);
  must(pair.a.qp.post_write(pair.a.local(0, 8), pair.b.remote(0, 8), 1, kSignaled));
  success(pair.a.sends, 1);
}

TEST_CASE("region_that_is_not_mapped_is_refused") {
  Pair pair;
  void* hole = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(hole != MAP_FAILED);
  ::munmap(hole, 8192);
  expect_registration_refused(pair.b.pd, hole, 8192, kAccessReadWrite);
  expect_registration_refused(pair.b.pd, nullptr, 8, kAccessReadWrite);
}

TEST_CASE("memory_is_registered_for_no_more_than_its_mapping_allows") {
  Pair pair;
  const auto map = [](int protection) {
    void* memory = ::mmap(nullptr, 8192, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
  };
  void* read_only = map(PROT_READ);
  void* inaccessible = map(PROT_NONE);
  void* half = map(PROT_READ | PROT_WRITE);
  REQUIRE(::mprotect(static_cast<std::byte*>(half) + 4096, 4096, PROT_READ) == 0);
  expect_registration_refused(pair.a.pd, read_only, 8192, IBV_ACCESS_LOCAL_WRITE);
  expect_registration_refused(pair.a.pd, inaccessible, 8192, IBV_ACCESS_LOCAL_WRITE);
  // Kernels before 6.2 pin what is registered for reading whatever its mapping allows.
  if (pair.device->info().kind == DeviceKind::kShm) {
    expect_registration_refused(pair.a.pd, inaccessible, 8192, 0);
  }
  expect_registration_refused(pair.a.pd, half, 8192, IBV_ACCESS_LOCAL_WRITE);
  {
    const MemoryRegion writable(pair.a.pd, half, 4096, IBV_ACCESS_LOCAL_WRITE);
    const MemoryRegion source(pair.a.pd, read_only, 8192, 0);
    pair.b.at<std::uint64_t>(0) = 5;
    must(pair.a.qp.post_write(source.local(4096, 8), pair.b.remote(0, 8), 1, kSignaled));
    success(pair.a.sends, 1);
    CHECK(pair.b.at<std::uint64_t>(0) == 0);
  }
  for (void* memory : {read_only, inaccessible, half}) ::munmap(memory, 8192);
}

TEST_CASE("remote_write_and_atomics_without_local_write_are_refused") {
  Pair pair;
  expect_registration_refused(pair.b.pd, pair.b.segment.data(), 4096, IBV_ACCESS_REMOTE_WRITE);
  expect_registration_refused(pair.b.pd, pair.b.segment.data(), 4096, IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_CASE("access_flags_that_are_not_offered_are_refused") {
  Pair pair;
  expect_registration_refused(pair.b.pd, pair.b.segment.data(), 4096,
                              kAccessAll | IBV_ACCESS_RELAXED_ORDERING);
  expect_registration_refused(pair.b.pd, pair.b.segment.data(), 4096,
                              kAccessAll | IBV_ACCESS_MW_BIND);
  expect_registration_refused(pair.b.pd, pair.b.segment.data(), 4096,
                              kAccessAll | IBV_ACCESS_ZERO_BASED);
}

TEST_CASE("many_regions_can_be_registered_and_released") {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<MemoryRegion>> regions;
    for (std::size_t i = 0; i < 200; ++i) {
      regions.push_back(
          std::make_unique<MemoryRegion>(pair.b.pd, pair.b.segment.data() + 64 * i, 64));
    }
    for (std::uint64_t i = 0; i < regions.size(); ++i) {
      pair.a.at<std::uint64_t>(8 * i) = 1000 * round + i;
      must(pair.a.qp.post_write(pair.a.local(8 * i, 8), regions[i]->remote().part(0, 8), i,
                                kSignaled));
    }
    for (std::uint64_t i = 0; i < regions.size(); ++i) {
      success(pair.a.sends, i);
      CHECK(pair.b.at<std::uint64_t>(64 * i) == 1000 * round + i);
    }
  }
}
