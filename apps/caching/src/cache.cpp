// SPDX-License-Identifier: MIT
// Cache and Document: the public side of Node.
#include "caching/cache.hpp"

#include "block.hpp"
#include "node.hpp"

namespace caching {
namespace {

/// The Nodes of a fabric's Caches, which live as long as the fabric.
struct Nodes {
  std::mutex mutex;
  std::vector<std::shared_ptr<detail::Node>> all;
};
constexpr char kNodesKey = 0;

}  // namespace

Document::~Document() {
  if (node_ != nullptr) node_->local().unpin(entry_);
}

std::span<const std::byte> Document::body() const noexcept {
  return block_ == nullptr ? std::span<const std::byte>() : detail::Block(block_).body();
}

std::string_view Document::metadata() const noexcept {
  return block_ == nullptr ? std::string_view() : detail::Block(block_).metadata();
}

std::string_view Document::validator() const noexcept {
  return block_ == nullptr ? std::string_view() : detail::Block(block_).validator();
}

Time Document::expires() const noexcept {
  return block_ == nullptr ? Time() : detail::expires_of(detail::Block(block_).fields());
}

Cache::Cache(dsfabric::Fabric& fabric, const CacheOptions& options)
    : node_(std::make_shared<detail::Node>(fabric, options)) {
  const auto kept = std::static_pointer_cast<Nodes>(
      fabric.attachment(&kNodesKey, [](dsfabric::Fabric&) { return std::make_shared<Nodes>(); }));
  {
    const std::scoped_lock lock(kept->mutex);
    kept->all.push_back(node_);
  }
  node_->connect();
  fabric.on_failure([node = std::weak_ptr(node_), founders = fabric.founders()](
                        dsfabric::ProcessId failed, const std::string& /*reason*/) {
    // Newcomers to an elastic job have no documents.
    if (failed.value >= founders) return;
    if (const auto alive = node.lock()) alive->notice_failure(failed.value);
  });
}

Cache::~Cache() { node_->close(); }

Document Cache::get(std::string_view key, std::string_view variant) noexcept {
  return get_at(key, variant, nullptr);
}

Document Cache::get(std::string_view key, std::string_view variant, Time now) noexcept {
  return get_at(key, variant, &now);
}

Document Cache::get_at(std::string_view key, std::string_view variant, const Time* now) noexcept {
  try {
    return node_->get(detail::name_of(key, variant), now);
  } catch (const std::exception&) {
    return Document(kNoTicket);  // no memory for this thread's connections
  }
}

Stored Cache::put(std::string_view key, std::string_view variant, const Attributes& attributes,
                  std::span<const std::byte> body, Ticket ticket) {
  return node_->put(detail::name_of(key, variant), attributes, body, ticket);
}

bool Cache::invalidate(std::string_view key) {
  return node_->invalidate(detail::name_of(key, {}).key_hash);
}

void Cache::drop(std::string_view key) noexcept {
  try {
    node_->drop(detail::name_of(key, {}).key_hash);
  } catch (const std::exception&) {
    // Its words stay in the directory; nobody finds a document by them.
  }
}

Counters Cache::counters() const noexcept { return node_->counters(); }

bool Cache::invariant() const { return node_->local().invariant(); }

const CacheOptions& Cache::options() const noexcept { return node_->options(); }

}  // namespace caching
