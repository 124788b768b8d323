// SPDX-License-Identifier: MIT
// Builds the sentence of an Error.
#include "dtutils/error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace dtutils {
namespace {

std::string sentence(std::string_view object, std::string_view happened, std::string_view remedy,
                     int code) {
  std::string text = fmt::format("{}: {}", object, happened);
  if (code != 0) {
    text += fmt::format(" ({}, errno {})", std::generic_category().message(code), code);
  }
  if (!remedy.empty()) {
    text += fmt::format("; {}", remedy);
  }
  return text;
}

}  // namespace

Error::Error(std::string_view object, std::string_view happened, std::string_view remedy, int code)
    : std::runtime_error(sentence(object, happened, remedy, code)),
      object_(object),
      remedy_(remedy),
      code_(code) {}

}  // namespace dtutils
