// SPDX-License-Identifier: MIT
// The JSON by which a keeper answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "child.hpp"
#include "dsfabric/rendezvous_server.hpp"

namespace run {

/// "2026-11-26T15:52:01Z"
std::string time_text(std::chrono::system_clock::time_point time);

/// What a keeper tells of its job, beside the members.
struct JobWords {
  std::string name;
  std::string log;
  std::string began;
  std::uint32_t capacity = 0;
  std::vector<std::string> program;
};

/// Of a job that runs.
std::string report_of(const JobWords& words, const dsfabric::RendezvousServer& server);

/// Of a job that has ended: its status, and how each process did. `founders` are Job::founders().
std::string ending_report(int status, const std::string& reason,
                          const std::vector<dsfabric::JobMember>& roster,
                          const std::vector<const Child*>& founders);

/// To a request that there is not.
std::string refusal_report(const std::string& request);

}  // namespace run
