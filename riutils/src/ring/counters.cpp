// SPDX-License-Identifier: MIT
// Counters as text.
#include "riutils/counters.hpp"

#include <fmt/format.h>

#include <utility>

namespace riutils {
namespace {

constexpr const char* kOutgoingLine = "{:>8}{:>14}{:>14}{:>12}{:>7}{:>9}{:>8}{:>9}{:>7}{:>11}\n";
constexpr const char* kIncomingLine = "{:>8}{:>14}{:>14}{:>12}\n";

std::string name(dsfabric::ThreadId thread, bool results) {
  return fmt::format("{}{}", thread, results ? "r" : "");
}

}  // namespace

std::string Counters::table() const {
  std::string text = fmt::format("thread {}\n", thread);
  if (!outgoing.empty()) {
    text += fmt::format(kOutgoingLine, "to", "calls", "bytes", "writes", "chunks", "filled",
                        "stalls", "retries", "queued", "max queued");
  }
  for (const OutgoingCounters& each : outgoing) {
    text += fmt::format(kOutgoingLine, name(each.to, each.results), each.calls, each.bytes,
                        each.writes, each.chunks, each.chunks_filled, each.stalls, each.retries,
                        each.queued, each.max_queued);
  }
  if (!incoming.empty()) {
    text += fmt::format(kIncomingLine, "from", "calls", "records", "consumed");
  }
  for (const IncomingCounters& each : incoming) {
    text += fmt::format(kIncomingLine, name(each.from, each.results), each.calls, each.records,
                        each.chunks_consumed);
  }
  return text;
}

std::string Counters::json() const {
  std::string text = fmt::format("{{\"thread\":\"{}\",\"outgoing\":[", thread);
  const char* comma = "";
  for (const OutgoingCounters& each : outgoing) {
    text += fmt::format(
        "{}{{\"to\":\"{}\",\"calls\":{},\"bytes\":{},\"writes\":{},\"chunks\":{},"
        "\"chunks_filled\":{},\"stalls\":{},\"retries\":{},\"queued\":{},"
        "\"max_queued\":{},\"results\":{}}}",
        std::exchange(comma, ","), each.to, each.calls, each.bytes, each.writes, each.chunks,
        each.chunks_filled, each.stalls, each.retries, each.queued, each.max_queued, each.results);
  }
  text += "],\"incoming\":[";
  comma = "";
  for (const IncomingCounters& each : incoming) {
    text += fmt::format(
        "{}{{\"from\":\"{}\",\"calls\":{},\"records\":{},\"chunks_consumed\":{},\"results\":{}}}",
        std::exchange(comma, ","), each.from, each.calls, each.records, each.chunks_consumed,
        each.results);
  }
  return text + "]}";
}

}  // namespace riutils
