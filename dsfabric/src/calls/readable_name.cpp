// SPDX-License-Identifier: MIT
// Demangling.
#include "calls/readable_name.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace dsfabric {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

std::string readable_name(std::string_view name, bool named_by_user) {
  if (!named_by_user) return demangled(std::string(name));
  // What stands in parentheses are types (detail::wrapper_name).
  std::size_t at = std::min(name.find('('), name.size());
  std::string readable(name.substr(0, at));
  while (at < name.size()) {
    const std::size_t end = std::min(name.find_first_of("(), ", at), name.size());
    readable += demangled(std::string(name.substr(at, end - at)));
    if (end < name.size()) readable += name[end];
    at = end + 1;
  }
  return readable;
}

}  // namespace dsfabric
