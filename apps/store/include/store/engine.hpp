// SPDX-License-Identifier: MIT
// A member of the store between its clients and the group: what is sent, what is answered when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/batch.hpp"
#include "store/client.hpp"
#include "store/database.hpp"
#include "store/parts.hpp"

namespace store {

/// Gathers the commands of clients into messages, as many as come while others are on their way,
/// and runs them when their message is delivered. It knows neither sockets nor the group: whoever
/// owns it sends what message() offers, and hands in what the group delivers.
///
/// Replies are in the order of the commands of a client, for each command runs in the order in
/// which it was given: an update from the message at its delivery, a read behind updates at the
/// same point. Reads that come without updates need no message: their owner hands them a ticket of
/// groups::OrderedGroup::begin_read(), and they run when that may. So updates and reads are
/// linearizable. Reads that look at the time do need a message, for that tells the time, and so do
/// all when a key has ended by the clock of this process. Reads of a client that said READONLY run
/// at once.
///
/// Owner thread only.
class Engine {
 public:
  struct Options {
    /// Bytes of a message at most.
    std::size_t max_message = 65536;
    /// Bytes of a command, or of a transaction, at most; those that are larger than a message take
    /// several. 0: what fits into one.
    std::size_t max_command = 0;
    /// The number of this process.
    std::uint16_t sender = 0;
    /// Milliseconds since 1970.
    std::function<std::uint64_t()> clock = {};
    /// Answers to INFO and STATUS, as text with lines.
    std::function<std::string(bool status)> describe = {};
  };
  explicit Engine(Options options);

  /// A command of a client: a reply follows, now or after a delivery. The arguments are copied.
  /// While Client::holds is set, as WATCH leaves it, the client may give no further one.
  void command(Client& client, Arguments arguments);
  /// The client's bytes cannot be understood; it is told so and leaves.
  void protocol_error(Client& client, const std::string& why);
  /// A command of the client was larger than max_command().
  void too_large(Client& client);
  /// The client is closed. It may end when nothing is outstanding and take_marked() was called.
  void closed(Client& client);
  /// Bytes of arguments that a command may have.
  std::size_t max_command() const noexcept { return max_command_; }

  /// What waits to be sent next are reads that need no message: begin_reads() takes them.
  bool reads_wait() const;
  /// They run when run_reads() is told this ticket or a later one. Tickets are greater than 0.
  void begin_reads(std::uint64_t ticket);
  /// Reads with tickets up to this one, which come next, run. True when any did.
  bool run_reads(std::uint64_t readable);
  /// A message that waits to be sent, with the time of now; empty: none.
  std::span<const std::byte> message();
  /// It was accepted by the group.
  void sent();
  /// Messages that wait, or were sent and not delivered.
  std::size_t waiting() const noexcept { return batches_.size(); }
  /// A message was delivered; `mine` when this process sent it.
  void deliver(std::span<const std::byte> bytes, bool mine);
  /// What was sent and not delivered has an unknown fate, and what waits was not sent: all of it is
  /// answered with this error.
  void give_up(std::string_view error);
  /// From now on updates (and, unless `reads`, linearizable reads) are refused with this error;
  /// empty: none are.
  void refuse(std::string error, bool reads);

  /// Clients that have something to be sent or that may be closed, since the last call.
  std::vector<Client*> take_marked();
  /// All that deliver() has changed, as bytes, and back. restore() throws dtutils::Error for what
  /// snapshot() has not made.
  std::vector<std::byte> snapshot() const;
  /// See snapshot().
  void restore(std::span<const std::byte> state);
  /// The keys. Only deliver() changes them, and what replaces all of it.
  Database& database() noexcept { return database_; }
  /// See above.
  const Database& database() const noexcept { return database_; }
  /// Commands that were run here for clients of this member.
  std::uint64_t commands() const noexcept { return commands_; }

 private:
  struct Op {
    Client* client;
    /// In the message; otherwise in Batch::local.
    bool in_message;
  };
  struct Batch {
    std::vector<std::byte> message;
    std::vector<std::byte> local;
    std::vector<Op> ops;
    std::uint32_t updates = 0;
    Part part = Part::kNone;
    /// A read looks at the time.
    bool timed = false;
    /// Of reads that go without a message; 0: it is one, or will be.
    std::uint64_t ticket = 0;
  };

  void queue_in_multi(Client& client, const CommandInfo& info, Arguments arguments);
  void exec(Client& client);
  void watch(Client& client, Arguments arguments);
  bool unchanged(Arguments watched);
  void of_connection(Client& client, const CommandInfo& info, Arguments arguments);
  /// A reply that is known already, in its place.
  void respond(Client& client, std::string_view text);
  void respond_error(Client& client, std::string_view text);
  Batch& open_batch(std::size_t bytes);
  void add_update(Client& client, CommandId id, Arguments arguments);
  void add_parts(Client& client, std::span<const std::byte> command);
  void add_local(Client& client, CommandId id, Arguments arguments);
  void run_local(Client& client, CommandId id, Arguments arguments);
  void run_update(CommandReader& reader, Client* client);
  void publish(Arguments arguments, Reply& reply);
  void subscribe(Client& client, CommandId id, Arguments arguments);
  void mark(Client& client);
  std::unique_ptr<Batch> fresh_batch();
  /// The first message that was sent and not delivered; nullptr: none.
  const Batch* sent_message() const;
  /// Runs the first batch, with what its message has brought.
  void run_first(CommandReader& updates);

  Options options_;
  /// Bytes of commands, with their words, that fit into one message.
  std::size_t room_;
  std::size_t max_command_;
  Database database_;
  Parts parts_;
  std::deque<std::unique_ptr<Batch>> batches_;
  std::vector<std::unique_ptr<Batch>> spare_;
  std::size_t sent_ = 0;
  /// Messages were given up after they were sent.
  bool gave_up_ = false;
  std::map<std::string, std::vector<Client*>, std::less<>> subscribers_;
  std::vector<Client*> marked_;
  std::string refusal_;
  bool refuse_reads_ = false;
  std::uint64_t commands_ = 0;
};

}  // namespace store
