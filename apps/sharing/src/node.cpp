// SPDX-License-Identifier: MIT
// Node: its table of names, and the data that live here.
#include "node.hpp"

namespace sharing::detail {

Node::Node(std::uint32_t data) : residents_(data) {
  for (std::uint32_t index = data; index-- > 0;) free_.push_back(index);
}

NodeAnswer NodeRequest::operator()(dsfabric::CallContext& /*call*/) const {
  return reinterpret_cast<Node*>(node)->run(*this);
}

NodeAnswer Node::take_index(const NodeRequest& request) {
  if (free_.empty()) return {};
  NodeAnswer answer{.done = true, .datum = request.datum};
  answer.datum.index = free_.back();
  free_.pop_back();
  residents_[answer.datum.index] = {request.name, answer.datum, request.claimer};
  return answer;
}

NodeAnswer Node::at_home(std::string_view name) const {
  NodeAnswer answer;
  for (const Resident& resident : residents_) {
    if (!resident.datum || name != resident.name.data()) continue;
    answer = {true, resident.claimer, resident.datum};
    // Others of this name are not to have it.
    if (resident.claimer == kNobody) break;
  }
  return answer;
}

NodeAnswer Node::run(const NodeRequest& request) {
  using What = NodeRequest::What;
  const std::string_view name(request.name.data());
  const std::scoped_lock lock(mutex_);
  NodeAnswer answer;
  switch (request.what) {
    case What::kTakeIndex:
      return take_index(request);
    case What::kSettle:
      residents_[request.datum.index].claimer = kNobody;
      answer.done = true;
      break;
    case What::kGiveIndex:
      residents_[request.datum.index] = {};
      free_.push_back(request.datum.index);
      answer.done = true;
      break;
    case What::kAtHome:
      return at_home(name);
    case What::kClaim:
      answer.done = names_.try_emplace(std::string(name), request.datum).second;
      break;
    case What::kFind:
      if (const auto found = names_.find(name); found != names_.end()) {
        answer = {true, kNobody, found->second};
      }
      break;
    case What::kForget:
      if (const auto found = names_.find(name); found != names_.end()) {
        answer = {true, kNobody, found->second};
        names_.erase(found);
      }
      break;
  }
  return answer;
}

}  // namespace sharing::detail
