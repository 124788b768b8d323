// SPDX-License-Identifier: MIT
// The members of an elastic job, as its launcher tells them to those who ask.
#include "bootstrap/server.hpp"
#include "dsfabric/rendezvous_server.hpp"
#include "dtutils/error.hpp"
#include "mesh/introduction.hpp"

namespace dsfabric {

std::vector<JobMember> RendezvousServer::roster() const {
  using State = JobMember::State;
  std::vector<JobMember> all;
  for (std::uint32_t rank = 0; rank < server_->ranks(); ++rank) {
    const auto& record = server_->record(rank);
    JobMember& member = all.emplace_back();
    member.process = rank;
    member.founder = rank < processes_;
    member.state = record.failed       ? State::kFailed
                   : record.left       ? State::kLeft
                   : record.introduced ? State::kActive
                                       : State::kStarting;
    member.since = record.since;
    member.reason = record.reason;
    if (!record.introduced) continue;
    try {
      const Introduction introduction(record.introduction);
      member.host = introduction.member.site.host;
      member.pid = introduction.member.pid;
    } catch (const dtutils::Error&) {
      // A bootstrap of somebody else's, which says something else.
    }
  }
  return all;
}

}  // namespace dsfabric
