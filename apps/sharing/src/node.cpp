// SPDX-License-Identifier: MIT
// Node: its table of names, and its numbers.
#include "node.hpp"

namespace sharing::detail {

Node::Node(std::uint32_t data) {
  for (std::uint32_t index = data; index-- > 0;) free_.push_back(index);
}

NodeAnswer NodeRequest::operator()(dsfabric::CallContext& /*call*/) const {
  return reinterpret_cast<Node*>(node)->run(*this);
}

NodeAnswer Node::run(const NodeRequest& request) {
  using What = NodeRequest::What;
  const std::string_view name(request.name.data());
  const std::scoped_lock lock(mutex_);
  NodeAnswer answer;
  switch (request.what) {
    case What::kTakeIndex:
      if (free_.empty()) break;
      answer = {true, free_.back(), {}};
      free_.pop_back();
      break;
    case What::kGiveIndex:
      free_.push_back(request.index);
      answer.done = true;
      break;
    case What::kClaim:
      answer.done = names_.try_emplace(std::string(name), request.datum).second;
      break;
    case What::kFind:
      if (const auto found = names_.find(name); found != names_.end()) {
        answer = {true, 0, found->second};
      }
      break;
    case What::kForget:
      if (const auto found = names_.find(name); found != names_.end()) {
        answer = {true, 0, found->second};
        names_.erase(found);
      }
      break;
  }
  return answer;
}

}  // namespace sharing::detail
