// SPDX-License-Identifier: MIT
// Comparing the programs of a job.
#include "calls/call_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dsfabric/detail/inside.hpp"
#include "dsfabric/fabric.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

bool run_message(void*, const Incoming& message) {
  CallContext context{message.fabric, message.source, message.worker};
  return run_records(message.payload, context, detail::Inside::calls(message.fabric).entries());
}

}  // namespace

CallTables::CallTables(const detail::FunctionTable& mine, std::uint32_t self,
                       const std::vector<std::span<const std::byte>>& described)
    : mine_(mine), entries_(mine.entries()), translations_(described.size()) {
  for (std::uint32_t process = 0; process < described.size(); ++process) {
    if (process == self || described[process].empty()) continue;
    translations_[process] = mine.translate(described[process]);
    bool shares = false;
    for (std::uint32_t i = 0; i < mine.size(); ++i) {
      shares = shares || (translations_[process][i] != detail::FunctionTable::kAbsent &&
                          !mine.slot(i).name().starts_with(detail::kLayerNames));
    }
    if (!shares) {
      throw dtutils::Error(
          fmt::format("process {}", process),
          "it runs another program, or another build of this one, and they have no named "
          "function in common",
          mine.difference(described[process]));
    }
  }
}

CallTables agree_on_functions(SharedBootstrap& bootstrap, const Config& config) {
  const detail::FunctionTable& table = detail::FunctionTable::instance();
  if (!table.conflict().empty()) {
    throw dtutils::Error("functions of this program", table.conflict(),
                         "give each callable a kCallName of its own");
  }
  // The programs of an elastic job are the same: the launcher lets in no others.
  if (bootstrap.elastic() != nullptr) {
    return {table, bootstrap.rank(), std::vector<std::span<const std::byte>>(bootstrap.capacity())};
  }
  const std::uint64_t digest = table.digest();
  const std::span mine = std::as_bytes(std::span(&digest, 1));
  const auto digests = bootstrap.all_gather(mine, config.start_timeout);
  const auto same = [&](const Bytes& theirs) { return std::ranges::equal(theirs, mine); };
  std::vector<Bytes> described(digests.size());
  if (!std::ranges::all_of(digests, same)) {
    described = bootstrap.all_gather(table.describe(), config.start_timeout);
  }
  std::vector<std::span<const std::byte>> differing(digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (!same(digests[i])) differing[i] = described[i];
  }
  return {table, bootstrap.rank(), differing};
}

MessageHandler call_handler() noexcept { return {&run_message, nullptr}; }

}  // namespace dsfabric
