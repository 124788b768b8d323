// SPDX-License-Identifier: MIT
// Engine: commands into messages, and replies that are known at once.
#include "store/engine.hpp"

#include <algorithm>
#include <utility>

#include "store/commands.hpp"

namespace store {
namespace {

/// Commands in one message, at most: a delivery does not take longer than these.
constexpr std::size_t kMaxOps = 4096;
constexpr std::string_view kTooLong = "ERR the transaction is larger than a command may be";

}  // namespace

Engine::Engine(Options options) : options_(std::move(options)) {
  room_ = options_.max_message - sizeof(BatchHead);
  // A command has a word of its own.
  max_command_ = options_.max_command != 0 ? options_.max_command : room_ - sizeof(std::uint32_t);
}

std::unique_ptr<Engine::Batch> Engine::fresh_batch() {
  std::unique_ptr<Batch> batch;
  if (spare_.empty()) {
    batch = std::make_unique<Batch>();
    batch->message.reserve(options_.max_message);
  } else {
    batch = std::move(spare_.back());
    spare_.pop_back();
  }
  batch->message.resize(sizeof(BatchHead));
  batch->local.clear();
  batch->ops.clear();
  batch->updates = 0;
  batch->part = Part::kNone;
  batch->timed = false;
  batch->ticket = 0;
  return batch;
}

Engine::Batch& Engine::open_batch(std::size_t bytes) {
  const bool open = batches_.size() > sent_ && batches_.back()->part == Part::kNone &&
                    batches_.back()->ops.size() < kMaxOps &&
                    batches_.back()->message.size() + bytes <= options_.max_message;
  if (!open) batches_.push_back(fresh_batch());
  return *batches_.back();
}

void Engine::add_update(Client& client, CommandId id, Arguments arguments) {
  const std::size_t bytes = command_bytes(arguments);
  if (bytes > room_) {
    std::vector<std::byte> command;
    append_command(command, id, arguments);
    return add_parts(client, command);
  }
  Batch& batch = open_batch(bytes);
  append_command(batch.message, id, arguments);
  ++batch.updates;
  batch.ops.push_back({&client, true});
  ++client.outstanding;
}

void Engine::add_parts(Client& client, std::span<const std::byte> command) {
  for (std::uint32_t index = 0; !command.empty(); ++index) {
    const auto bytes = command.first(std::min(room_, command.size()));
    command = command.subspan(bytes.size());
    batches_.push_back(fresh_batch());
    Batch& batch = *batches_.back();
    batch.message.insert(batch.message.end(), bytes.begin(), bytes.end());
    batch.updates = index;
    batch.part = command.empty() ? Part::kLast : Part::kMore;
  }
  batches_.back()->ops.push_back({&client, true});
  ++client.outstanding;
}

void Engine::add_local(Client& client, CommandId id, Arguments arguments) {
  Batch& batch = open_batch(0);
  append_command(batch.local, id, arguments);
  batch.ops.push_back({&client, false});
  batch.timed |= id == CommandId::kTtl || id == CommandId::kPTtl;
  ++client.outstanding;
}

void Engine::respond(Client& client, std::string_view text) {
  if (client.outstanding == 0) {
    client.out.append(text);
    return mark(client);
  }
  add_local(client, CommandId::kCanned, Arguments(&text, 1));
}

void Engine::respond_error(Client& client, std::string_view text) {
  std::string line;
  Reply(&line).error(text);
  respond(client, line);
}

void Engine::command(Client& client, Arguments arguments) {
  const CommandInfo* const info = find_command(arguments[0]);
  const auto count = static_cast<int>(arguments.size());
  std::string error;
  if (info == nullptr) {
    error.append("ERR unknown command '").append(arguments[0].substr(0, 128)).append("'");
    std::replace_if(
        error.begin(), error.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  } else if (info->arity >= 0 ? count != info->arity : count < -info->arity) {
    error.append("ERR wrong number of arguments for '").append(info->name).append("' command");
  } else if (!client.channels.empty() && info->id != CommandId::kSubscribe &&
             info->id != CommandId::kUnsubscribe && info->id != CommandId::kPing &&
             info->id != CommandId::kQuit) {
    error.append("ERR Can't execute '")
        .append(info->name)
        .append(
            "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
            "context");
  } else if (is_update(info->id) && !refusal_.empty() && info->id != CommandId::kExec) {
    error = refusal_;
  }
  if (!error.empty()) {
    client.multi_failed |= client.in_multi;
    return respond_error(client, error);
  }
  if (client.in_multi && (is_update(info->id) || is_read(info->id)) &&
      info->id != CommandId::kExec) {
    return queue_in_multi(client, *info, arguments);
  }
  if (info->id == CommandId::kExec) return exec(client);
  if (is_update(info->id)) return add_update(client, info->id, arguments);
  if (!is_read(info->id)) return of_connection(client, *info, arguments);
  if (client.stale_reads && client.outstanding == 0) {
    return run_local(client, info->id, arguments);
  }
  if (!refusal_.empty() && refuse_reads_) return respond_error(client, refusal_);
  add_local(client, info->id, arguments);
}

void Engine::queue_in_multi(Client& client, const CommandInfo& info, Arguments arguments) {
  if (client.queued.size() + command_bytes(arguments) > max_command_) {
    client.multi_failed = true;
    return respond_error(client, kTooLong);
  }
  append_command(client.queued, info.id, arguments);
  ++client.queued_commands;
  respond(client, "+QUEUED\r\n");
}

void Engine::exec(Client& client) {
  if (!client.in_multi) return respond_error(client, "ERR EXEC without MULTI");
  const bool failed = std::exchange(client.multi_failed, false);
  const std::uint32_t commands = std::exchange(client.queued_commands, 0);
  client.in_multi = false;
  const std::vector<std::byte> queued = std::exchange(client.queued, {});
  const auto watched = std::exchange(client.watched, {});
  if (failed) {
    return respond_error(client, "EXECABORT Transaction discarded because of previous errors.");
  }
  if (!refusal_.empty()) return respond_error(client, refusal_);
  std::vector<std::string_view> condition;
  for (const auto& [key, changed] : watched) {
    condition.push_back(key);
    condition.emplace_back(reinterpret_cast<const char*>(&changed), sizeof changed);
  }
  std::vector<std::byte> transaction;
  if (!watched.empty()) append_command(transaction, CommandId::kIfUnchanged, condition);
  const std::uint32_t head = commands << 8 | static_cast<std::uint32_t>(CommandId::kExec);
  const auto head_bytes = std::as_bytes(std::span(&head, 1));
  transaction.insert(transaction.end(), head_bytes.begin(), head_bytes.end());
  transaction.insert(transaction.end(), queued.begin(), queued.end());
  if (transaction.size() > max_command_ + sizeof head) return respond_error(client, kTooLong);
  if (transaction.size() > room_) return add_parts(client, transaction);
  Batch& batch = open_batch(transaction.size());
  batch.message.insert(batch.message.end(), transaction.begin(), transaction.end());
  batch.updates += 1 + commands + (watched.empty() ? 0 : 1);
  batch.ops.push_back({&client, true});
  ++client.outstanding;
}

void Engine::give_up(std::string_view error) {
  while (!batches_.empty()) {
    for (const Op& op : batches_.front()->ops) {
      --op.client->outstanding;
      op.client->holds = false;
      if (!op.client->gone) Reply(&op.client->out).error(error);
      mark(*op.client);
    }
    batches_.pop_front();
  }
  gave_up_ = gave_up_ || sent_ != 0;
  sent_ = 0;
}

void Engine::refuse(std::string error, bool reads) {
  refusal_ = std::move(error);
  refuse_reads_ = reads;
}

void Engine::mark(Client& client) {
  if (client.marked || client.gone) return;
  client.marked = true;
  marked_.push_back(&client);
}

std::vector<Client*> Engine::take_marked() {
  for (Client* const client : marked_) client->marked = false;
  return std::exchange(marked_, {});
}

void Engine::protocol_error(Client& client, const std::string& why) {
  respond_error(client, "ERR " + why);
  client.quits = true;
}

void Engine::too_large(Client& client) {
  client.multi_failed |= client.in_multi;
  respond_error(client,
                "ERR the command is larger than " + std::to_string(max_command_) + " bytes");
}

}  // namespace store
