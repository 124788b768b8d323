// SPDX-License-Identifier: MIT
// Commands of connections: transactions, channels, and what clients ask at their start.
#include <algorithm>
#include <string>

#include "store/engine.hpp"

namespace store {
namespace {

void bulk_to(std::string& out, std::string_view text) { Reply(&out).bulk(text); }

/// The reply of CONFIG GET: what redis-benchmark asks for; all else has no entries.
std::string config(Arguments arguments) {
  std::string out;
  Reply reply(&out);
  if (arguments.size() == 3 && arguments[1].size() == 3 && (arguments[1][0] | 32) == 'g') {
    const bool save = arguments[2] == "save", append_only = arguments[2] == "appendonly";
    reply.array(save || append_only ? 2 : 0);
    if (save || append_only) {
      reply.bulk(arguments[2]);
      reply.bulk(save ? "" : "no");
    }
  } else {
    reply.error("ERR only CONFIG GET is supported");
  }
  return out;
}

}  // namespace

void Engine::of_connection(Client& client, const CommandInfo& info, Arguments arguments) {
  std::string out;
  switch (info.id) {
    case CommandId::kMulti:
      if (client.in_multi) return respond_error(client, "ERR MULTI calls can not be nested");
      client.in_multi = true;
      return respond(client, "+OK\r\n");
    case CommandId::kDiscard:
      if (!client.in_multi) return respond_error(client, "ERR DISCARD without MULTI");
      client.in_multi = client.multi_failed = false;
      client.queued_commands = 0;
      client.queued.clear();
      client.watched.clear();
      return respond(client, "+OK\r\n");
    case CommandId::kWatch:
      if (client.in_multi) {
        return respond_error(client, "ERR WATCH inside MULTI is not allowed");
      }
      if (client.outstanding == 0) return watch(client, arguments);
      client.holds = true;
      return add_local(client, info.id, arguments);
    case CommandId::kUnwatch:
      client.watched.clear();
      return respond(client, "+OK\r\n");
    case CommandId::kSubscribe:
    case CommandId::kUnsubscribe:
      if (client.in_multi) {
        client.multi_failed = true;
        return respond_error(client, "ERR channels are not for transactions here");
      }
      if (client.outstanding == 0) return subscribe(client, info.id, arguments);
      return add_local(client, info.id, arguments);
    case CommandId::kPing:
      if (!client.channels.empty()) {
        Reply(&out).array(2);
        bulk_to(out, "pong");
        bulk_to(out, arguments.size() > 1 ? arguments[1] : std::string_view{});
        return respond(client, out);
      }
      if (arguments.size() == 1) return respond(client, "+PONG\r\n");
      [[fallthrough]];
    case CommandId::kEcho:
      bulk_to(out, arguments[1]);
      return respond(client, out);
    case CommandId::kInfo:
    case CommandId::kStatus:
      bulk_to(out,
              options_.describe ? options_.describe(info.id == CommandId::kStatus) : std::string{});
      return respond(client, out);
    case CommandId::kCommand:
      return respond(client, "*0\r\n");
    case CommandId::kConfig:
      return respond(client, config(arguments));
    case CommandId::kClient:
      return respond(client, "+OK\r\n");
    case CommandId::kSelect:
      if (arguments[1] != "0") return respond_error(client, "ERR DB index is out of range");
      return respond(client, "+OK\r\n");
    case CommandId::kReadOnly:
    case CommandId::kReadWrite:
      client.stale_reads = info.id == CommandId::kReadOnly;
      return respond(client, "+OK\r\n");
    case CommandId::kQuit:
      respond(client, "+OK\r\n");
      client.quits = true;
      return;
    default:
      return respond_error(client, "ERR this command has no place here");
  }
}

void Engine::run_local(Client& client, CommandId id, Arguments arguments) {
  if (client.gone) return;
  if (is_read(id)) {
    Reply reply(&client.out);
    database_.run(id, arguments, reply);
  } else if (id == CommandId::kCanned) {
    client.out.append(arguments[0]);
  } else if (id == CommandId::kWatch) {
    watch(client, arguments);
  } else {
    subscribe(client, id, arguments);
  }
  mark(client);
}

void Engine::watch(Client& client, Arguments arguments) {
  client.holds = false;
  for (const std::string_view key : arguments.subspan(1)) {
    // What it watches already stays as it was found first.
    client.watched.try_emplace(std::string(key), database_.changed(key));
  }
  Reply(&client.out).simple("OK");
  mark(client);
}

bool Engine::unchanged(Arguments watched) {
  for (std::size_t i = 0; i + 1 < watched.size(); i += 2) {
    std::uint64_t changed = 0;
    if (watched[i + 1].size() != sizeof changed) return false;
    std::memcpy(&changed, watched[i + 1].data(), sizeof changed);
    if (database_.changed(watched[i]) != changed) return false;
  }
  return true;
}

void Engine::subscribe(Client& client, CommandId id, Arguments arguments) {
  const bool on = id == CommandId::kSubscribe;
  std::vector<std::string> names(arguments.begin() + 1, arguments.end());
  if (names.empty()) names.assign(client.channels.begin(), client.channels.end());
  const auto tell = [&](const std::string* name) {
    Reply reply(&client.out);
    reply.array(3);
    reply.bulk(on ? "subscribe" : "unsubscribe");
    name != nullptr ? reply.bulk(*name) : reply.nil();
    reply.integer(static_cast<std::int64_t>(client.channels.size()));
  };
  if (names.empty()) tell(nullptr);
  for (const std::string& name : names) {
    if (on) {
      if (client.channels.insert(name).second) subscribers_[name].push_back(&client);
    } else if (client.channels.erase(name) != 0) {
      const auto found = subscribers_.find(name);
      std::erase(found->second, &client);
      if (found->second.empty()) subscribers_.erase(found);
    }
    tell(&name);
  }
  mark(client);
}

void Engine::publish(Arguments arguments, Reply& reply) {
  const auto found = subscribers_.find(arguments[1]);
  const std::size_t count = found == subscribers_.end() ? 0 : found->second.size();
  for (std::size_t i = 0; i < count; ++i) {
    Client& client = *found->second[i];
    Reply push(&client.out);
    push.array(3);
    push.bulk("message");
    push.bulk(arguments[1]);
    push.bulk(arguments[2]);
    mark(client);
  }
  reply.integer(static_cast<std::int64_t>(count));
}

void Engine::closed(Client& client) {
  client.gone = true;
  for (const std::string& name : client.channels) {
    const auto found = subscribers_.find(name);
    std::erase(found->second, &client);
    if (found->second.empty()) subscribers_.erase(found);
  }
  client.channels.clear();
}

}  // namespace store
