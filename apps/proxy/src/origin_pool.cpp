// SPDX-License-Identifier: MIT
// The connections to one origin: those that are idle are used again.
#include <memory>
#include <utility>
#include <vector>

#include "proxy/origin.hpp"

namespace proxy {

OriginPool::OriginPool(Context& context, std::string name)
    : context_(context), name_(std::move(name)), address_(resolve(name_)) {}

OriginConnection* OriginPool::take(bool fresh) {
  if (!fresh && !idle_.empty()) {
    OriginConnection* const last = idle_.back();
    idle_.pop_back();
    return last;
  }
  if (connections_.size() - gone_.size() >= context_.options.max_origin_connections) {
    if (idle_.empty()) return nullptr;
    idle_.front()->give_up();
  }
  Socket socket = connect_to(address_);
  if (!socket) return nullptr;
  auto connection = std::make_unique<OriginConnection>(context_, *this, std::move(socket));
  OriginConnection* const key = connection.get();
  connections_.emplace(key, std::move(connection));
  ++context_.metrics.origin_connections;
  return key;
}

void OriginPool::keep(OriginConnection& connection) { idle_.push_back(&connection); }

void OriginPool::closed(OriginConnection& connection) {
  std::erase(idle_, &connection);
  gone_.push_back(&connection);
  --context_.metrics.origin_connections;
}

void OriginPool::check_deadlines() {
  // A failure may begin another request, and so another connection.
  std::vector<OriginConnection*> all;
  for (const auto& [connection, owner] : connections_) all.push_back(connection);
  for (OriginConnection* const connection : all) connection->check_deadline();
}

void OriginPool::sweep() {
  for (OriginConnection* const connection : gone_) connections_.erase(connection);
  gone_.clear();
}

void OriginPool::close_idle() {
  while (!idle_.empty()) idle_.back()->give_up();
}

}  // namespace proxy
