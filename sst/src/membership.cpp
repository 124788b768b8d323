// SPDX-License-Identifier: MIT
// Membership: from wishes to views.
#include "sst/membership.hpp"

namespace sst {

Membership::Membership(TableGroup& group, Upcall upcall, const std::string& name, Quorum quorum)
    : upcall_(std::move(upcall)),
      wishes_(group, {.name = name + " wishes"}),
      agreement_(
          group, {.name = name},
          [this](std::uint64_t number, const MemberSet& members) {
            members_ = members;
            view_ = {number, members.ids()};
            upcall_(view_);
          },
          quorum) {}

MemberSet Membership::wanted() const {
  MemberSet members;
  for (std::uint16_t i = 0; i < wishes_.size(); ++i) {
    const dsfabric::ProcessId process = wishes_.process({i});
    const bool lives = MemberId{i} == wishes_.self() || !wishes_.frozen({i});
    if (lives && agreement_.includes(process) && wishes_.get({i}, &Wish::wanted)) {
      members.add(process);
    }
  }
  return members;
}

bool Membership::evaluate() {
  wishes_.evaluate();
  // What was wished before may be out of date.
  agreement_.withdraw();
  if (agreement_.idle()) {
    if (const MemberSet next = wanted(); next != members_) agreement_.propose(next);
  }
  return agreement_.evaluate();
}

dsfabric::ProgressHook Membership::hook() noexcept {
  return {[](void* self) { return static_cast<Membership*>(self)->evaluate(); }, this};
}

}  // namespace sst
