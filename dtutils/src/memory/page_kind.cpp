// SPDX-License-Identifier: MIT
// Kinds of pages: sizes, names, and what the kernel's settings say about them.
#include "memory/page_kind.hpp"

#include <fmt/format.h>

#include <fstream>

#include "dtutils/error.hpp"
#include "dtutils/limits.hpp"

namespace dtutils {
namespace {

constexpr std::size_t kSize1GB = std::size_t{1} << 30;
constexpr std::size_t kSize2MB = std::size_t{2} << 20;

/// The selected word of a line such as "always [madvise] never"; empty when there is no such file.
std::string selected(const char* path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word.front() == '[') {
      return word.substr(1, word.size() - 2);
    }
  }
  return {};
}

}  // namespace

const char* to_string(PageKind kind) noexcept {
  switch (kind) {
    case PageKind::kHuge1GB:
      return "1 GB huge pages";
    case PageKind::kHuge2MB:
      return "2 MB huge pages";
    case PageKind::kTransparentHuge:
      return "transparent huge pages";
    case PageKind::kSmall:
      break;
  }
  return "4 KB pages";
}

std::size_t page_size(PageKind kind) noexcept {
  switch (kind) {
    case PageKind::kHuge1GB:
      return kSize1GB;
    case PageKind::kHuge2MB:
    case PageKind::kTransparentHuge:
      return kSize2MB;
    case PageKind::kSmall:
      break;
  }
  return kPage;
}

bool from_pool(PageKind kind) noexcept {
  return kind == PageKind::kHuge1GB || kind == PageKind::kHuge2MB;
}

std::string pool_remedy(PageKind kind, std::size_t size, int node) {
  const std::string where =
      node < 0 ? "/sys/kernel/mm" : fmt::format("/sys/devices/system/node/node{}", node);
  return fmt::format(
      "reserve so many that {} are free: echo N > {}/hugepages/hugepages-{}kB/nr_hugepages (or "
      "hugepagesz= and hugepages= on the kernel's command line), or allow smaller pages",
      (size + page_size(kind) - 1) / page_size(kind), where, page_size(kind) / 1024);
}

void check_transparent_pages(const std::string& object) {
  std::string policy =
      selected("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/shmem_enabled");
  if (policy.empty() || policy == "inherit") {
    policy = selected("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  }
  if (policy.empty() || policy == "never" || policy == "deny") {
    throw Error(object, "the kernel gives shared memory no transparent huge pages",
                "allow them: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
  }
}

}  // namespace dtutils
