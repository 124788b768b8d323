// SPDX-License-Identifier: MIT
// Membership: one event after the other.
#include "failure/membership.hpp"

#include <fmt/format.h>

#include <exception>

namespace dsfabric {
namespace {

std::string text_of(const JobEvent& event) {
  return {reinterpret_cast<const char*>(event.bytes.data()), event.bytes.size()};
}

}  // namespace

void Membership::end(const JobEvent& event) noexcept {
  const ProcessId process{static_cast<std::uint16_t>(event.process)};
  if (event.kind == JobEvent::Kind::kLeft) return failures_.mark_left(process);
  notices_.check(process);
  failures_.declare(process, text_of(event));
}

void Membership::hear(const JobEvent& event) noexcept {
  const ProcessId process{static_cast<std::uint16_t>(event.process)};
  if (event.process >= meeting_.members->capacity()) {
    return given_up_("the launcher has ended, without which nobody agrees on who is in the job");
  }
  if (event.kind != JobEvent::Kind::kJoined) {
    if (process == meeting_.members->self()) {
      if (event.kind == JobEvent::Kind::kLeft) return failures_.mark_left(process);
      return given_up_("the job has given it up: " + text_of(event));
    }
    end(event);
  } else if (meeting_.members->is_founder(process)) {
    return;
  } else {
    try {
      meeting_.add(process, event.bytes);
    } catch (const std::exception& error) {
      failures_.declare(process, fmt::format("it introduced itself wrongly: {}", error.what()));
    }
  }
  failures_.agree(event.kind, process,
                  event.kind == JobEvent::Kind::kFailed ? text_of(event) : std::string());
}

void Membership::accuse(ProcessId process, std::string_view reason) noexcept try {
  if (ElasticJob* const job = bootstrap_.elastic()) job->accuse(process.value, reason);
} catch (const std::exception&) {
  // There is no memory: the others will notice by themselves.
}

}  // namespace dsfabric
