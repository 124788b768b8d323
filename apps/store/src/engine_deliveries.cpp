// SPDX-License-Identifier: MIT
// Engine: deliveries into replies, reads without a message, and all that deliveries have changed.
#include <algorithm>
#include <cstring>
#include <utility>

#include "store/commands.hpp"
#include "store/engine.hpp"

namespace store {
namespace {

/// Batches that are kept to be used again.
constexpr std::size_t kSpares = 64;

}  // namespace

bool Engine::reads_wait() const {
  if (batches_.size() == sent_) return false;
  const Batch& batch = *batches_[sent_];
  return batch.updates == 0 && batch.part == Part::kNone && !batch.timed &&
         (!database_.has_ends() || !database_.ends_by(options_.clock()));
}

void Engine::begin_reads(std::uint64_t ticket) { batches_[sent_++]->ticket = ticket; }

bool Engine::run_reads(std::uint64_t readable) {
  bool any = false;
  CommandReader none({});
  for (; sent_ != 0 && batches_.front()->ticket != 0 && batches_.front()->ticket <= readable;
       any = true) {
    run_first(none);
  }
  return any;
}

std::span<const std::byte> Engine::message() {
  if (batches_.size() == sent_) return {};
  Batch& batch = *batches_[sent_];
  const BatchHead head{options_.clock(), batch.updates, options_.sender, batch.part};
  std::memcpy(batch.message.data(), &head, sizeof head);
  return batch.message;
}

void Engine::sent() { ++sent_; }

void Engine::run_update(CommandReader& reader, Client* client) {
  Reply reply(client != nullptr && !client->gone ? &client->out : nullptr);
  const auto run = [&] {
    if (reader.id() == CommandId::kPublish) return publish(reader.arguments(), reply);
    database_.run(reader.id(), reader.arguments(), reply);
  };
  bool wanted = true;
  if (reader.id() == CommandId::kIfUnchanged) {
    wanted = unchanged(reader.arguments());
    if (!reader.next()) return;
  }
  if (reader.id() != CommandId::kExec) return run();
  const std::uint32_t commands = reader.count();
  if (!wanted) {
    for (std::uint32_t i = 0; i < commands; ++i) (void)reader.next();
    return reply.nil_array();
  }
  reply.array(commands);
  for (std::uint32_t i = 0; i < commands && reader.next(); ++i) run();
}

const Engine::Batch* Engine::sent_message() const {
  for (std::size_t i = 0; i < sent_; ++i) {
    if (batches_[i]->ticket == 0) return batches_[i].get();
  }
  return nullptr;
}

void Engine::run_first(CommandReader& updates) {
  std::unique_ptr<Batch> batch = std::move(batches_.front());
  batches_.pop_front();
  --sent_;
  CommandReader local(batch->local);
  for (const Op& op : batch->ops) {
    if (op.in_message) {
      if (updates.next()) run_update(updates, op.client);
    } else if (local.next()) {
      run_local(*op.client, local.id(), local.arguments());
    }
    --op.client->outstanding;
    ++commands_;
    mark(*op.client);
  }
  if (spare_.size() < kSpares) spare_.push_back(std::move(batch));
}

void Engine::deliver(std::span<const std::byte> bytes, bool mine) {
  BatchHead head;
  if (bytes.size() < sizeof head) return;
  std::memcpy(&head, bytes.data(), sizeof head);
  // What was given up may still come. If it is equal to the next one, clients see no difference.
  const Batch* const next = mine ? sent_message() : nullptr;
  mine = next != nullptr && (!gave_up_ || std::ranges::equal(bytes, next->message));
  // Reads before it have a place before it, whether their tickets have come or not.
  if (mine) run_reads(~std::uint64_t{0});
  database_.advance(head.time);
  bytes = bytes.subspan(sizeof head);
  std::vector<std::byte> whole;
  if (head.part != Part::kNone) {
    whole = parts_.take(head.sender, head.updates, head.part, bytes);
    bytes = whole;
  }
  CommandReader updates(bytes);
  if (!mine) {
    while (updates.next()) run_update(updates, nullptr);
    return;
  }
  run_first(updates);
}

std::vector<std::byte> Engine::snapshot() const {
  std::vector<std::byte> state = database_.snapshot();
  const std::uint64_t keys = state.size();
  parts_.append_to(state);
  const auto end = std::as_bytes(std::span(&keys, 1));
  state.insert(state.end(), end.begin(), end.end());
  return state;
}

void Engine::restore(std::span<const std::byte> state) {
  std::uint64_t keys = ~0ull;
  if (state.size() >= sizeof keys) {
    state = state.first(state.size() - sizeof keys);
    std::memcpy(&keys, state.data() + state.size(), sizeof keys);
  }
  // What is too short is refused by the database.
  keys = std::min<std::uint64_t>(keys, state.size());
  database_.restore(state.first(keys));
  parts_.restore(state.subspan(keys));
}

}  // namespace store
