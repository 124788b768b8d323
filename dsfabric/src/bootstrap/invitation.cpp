// SPDX-License-Identifier: MIT
// What the launcher of scripts/run has put into the environment of a process.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/frame.hpp"
#include "dtutils/error.hpp"
#include "dtutils/parse_number.hpp"

namespace dsfabric {
namespace {

using namespace rendezvous;  // NOLINT: a source file of the same folder
using dtutils::Error;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw Error("rendezvous", fmt::format("{} is set, but {} is not", kAddressVariable, name),
                "start the program through cariama-run (scripts/run), which sets all of them");
  }
  return value;
}

std::uint32_t number(const char* name) {
  const std::string text = variable(name);
  const auto value = dtutils::parse_number<std::uint32_t>(text);
  if (!value) {
    throw Error("rendezvous", fmt::format("{} is \"{}\", which is no number", name, text),
                "start the program through cariama-run (scripts/run), which sets it");
  }
  return *value;
}

bool starts_an_elastic_job() {
  return std::getenv(kElasticVariable) != nullptr && number(kElasticVariable) != 0;
}

/// What the launcher has put into the environment.
Invitation invitation() {
  Invitation found{variable(kAddressVariable), variable(kSecretVariable)};
  const bool comes_later = variable(kRankVariable) == kNewcomerRank;
  found.rank = comes_later ? kNewcomer : number(kRankVariable);
  found.size = comes_later ? 0 : number(kSizeVariable);
  found.elastic = comes_later || starts_an_elastic_job();
  return found;
}

}  // namespace

std::unique_ptr<Bootstrap> make_rendezvous_client(const BootstrapOptions& options) {
  return accept_invitation(invitation(), options);
}

}  // namespace dsfabric
